"""Conversations of the OpenAI Agents SDK, run by its own runner with a model that answers from a script."""

import asyncio
import copy
import json
import secrets
import unittest
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.memory import Session, SessionSettings
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from pensa_client import Pensa
from pensa_client.openai_agents import PensaSession
from tests.daemon import WithDaemon, pn


def user(content: str) -> Any:
    return {"role": "user", "content": content}


def says(text: str) -> list[Any]:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return [ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[content])]


class ScriptedModel(Model):
    """Answers with what it is told to, and remembers what it was asked."""

    def __init__(self, answers: list[list[Any]]) -> None:
        self.answers = answers
        self.asked: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:
        self.asked.append(copy.deepcopy(input))
        return ModelResponse(output=self.answers.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError


@function_tool
def weather(city: str) -> str:
    """The weather."""
    return f"sun in {city}"


class Conversations(WithDaemon, unittest.IsolatedAsyncioTestCase):
    def session(self, name: str, **more: Any) -> PensaSession:
        return PensaSession(name, Pensa(self.daemon.url), **more)

    async def test_a_conversation_goes_on_in_another_processs_session_object(self) -> None:
        call = ResponseFunctionToolCall(
            type="function_call", call_id="c1", name="weather", arguments='{"city":"Zürich"}', status="completed"
        )
        model = ScriptedModel([[call], says("Sonne ☀️ in Zürich"), says("You asked about Zürich")])
        agent = Agent(name="helper", model=model, tools=[weather])
        first, second = self.session("chat 17 – Zoë"), self.session("chat 17 – Zoë")
        self.assertIsInstance(first, Session)
        config = RunConfig(tracing_disabled=True)
        result = await Runner.run(agent, "the weather in Zürich?", session=first, run_config=config)
        self.assertEqual(result.final_output, "Sonne ☀️ in Zürich")
        await Runner.run(agent, "what did I ask?", session=second, run_config=config)
        heard = json.dumps(model.asked[2], ensure_ascii=False, default=str)
        for part in ["the weather in Zürich?", "sun in Zürich", "Sonne ☀️ in Zürich", "what did I ask?"]:
            self.assertIn(part, heard)
        items = await second.get_items()
        self.assertEqual(len(items), 6)
        self.assertEqual(items, await first.get_items())
        self.assertIn("assistant_message", pn(self.daemon.directory, "session", "search", "Sonne"))

    async def test_items_come_back_as_they_were_and_the_last_ones_with_a_limit(self) -> None:
        session = self.session("limits", session_settings=SessionSettings(limit=1))
        self.assertEqual(await session.get_items(), [])
        items = [user(text) for text in "abc"]
        await session.add_items(items[:1])
        await session.add_items(items[1:])
        await session.add_items([])
        self.assertEqual(await self.session("limits").get_items(), items)
        for limit, expected in [(2, items[1:]), (0, []), (9, items), (None, items[2:])]:
            self.assertEqual(await session.get_items(limit), expected)

    async def test_items_are_popped_from_the_end_each_by_one_caller_only(self) -> None:
        session = self.session("pops")
        self.assertIsNone(await session.pop_item())
        items = [user(f"item {n}") for n in range(6)]
        await session.add_items(items)
        self.assertEqual(await session.pop_item(), items[5])
        popped = await asyncio.gather(*(self.session("pops").pop_item() for _ in range(5)))
        self.assertEqual(sorted(popped, key=str), items[:5])
        self.assertEqual(await session.get_items(), [])
        await session.add_items([user("again")])
        self.assertEqual(await session.get_items(), [user("again")])

    async def test_a_cleared_conversation_is_empty_and_its_history_is_kept(self) -> None:
        session = self.session("cleared")
        await session.clear_session()
        await session.add_items([user("old")])
        await session.clear_session()
        self.assertEqual(await session.get_items(), [])
        await session.add_items([user("new")])
        self.assertEqual(await session.get_items(), [user("new")])
        self.assertEqual(len(self.ana.session_history(id="cleared", all=True)), 2)

    async def test_two_that_begin_a_conversation_at_once_share_it(self) -> None:
        await asyncio.gather(*(self.session("shared").add_items([user(str(n))]) for n in range(8)))
        self.assertEqual(len(await self.session("shared").get_items()), 8)
        self.assertEqual([agent.get("name") for agent in self.ana.agent_list()].count("shared"), 1)

    async def test_secrets_are_replaced_unless_asked_otherwise(self) -> None:
        secret = f"ghp_{secrets.token_hex(18)}"
        for redact in [True, False]:
            session = self.session(f"secrets {redact}", redact=redact)
            await session.add_items([user(f"my token is {secret}")])
            self.assertEqual(secret in str(await session.get_items()), not redact)
