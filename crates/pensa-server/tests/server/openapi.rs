//! Compares the OpenAPI document with the routes of the server.

use std::collections::BTreeSet;

use crate::daemon::Daemon;
use pensa_engine::catalog;
use pensa_server::openapi;
use serde_json::Value;

/// Every method and path in the document.
fn routes(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().expect("paths");
    let methods = |path: &Value| path.as_object().expect("methods").keys().cloned().collect::<Vec<_>>();
    paths
        .iter()
        .flat_map(|(path, item)| methods(item).into_iter().map(|method| (method.to_uppercase(), path.clone())))
        .collect()
}

/// Every `$ref` in the document.
fn references<'d>(value: &'d Value, found: &mut Vec<&'d str>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str));
            object.values().for_each(|inner| references(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn document_has_exactly_the_operations_of_the_catalog() {
    let mut expected: BTreeSet<(String, String)> =
        catalog().iter().map(|entry| (entry.route.method.to_string(), entry.route.path.to_owned())).collect();
    expected.extend(["/openapi.json", "/events"].map(|path| ("GET".into(), path.into())));
    assert_eq!(routes(&openapi()), expected);
}

#[test]
fn every_route_of_the_document_is_answered() {
    let daemon = Daemon::start();
    for (method, path) in routes(&openapi()) {
        let answer = daemon.send(&method, &path.replace("{id}", "pn-00000000"), &[], "");
        let unknown = answer.body["error"].as_str().is_some_and(|text| text.starts_with("path not found"));
        assert!(answer.status != 405 && !unknown, "{method} {path} {answer:?}");
    }
}

#[test]
fn served_document_equals_the_library_s() {
    let daemon = Daemon::start();
    assert_eq!(daemon.get("/openapi.json").body, openapi());
}

#[test]
fn every_reference_of_the_document_resolves() {
    let document = openapi();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.iter().any(|to| to.starts_with("#/components/schemas/")), "{found:?}");
    for to in found {
        assert!(document.pointer(to.trim_start_matches('#')).is_some(), "{to}");
    }
}

#[test]
fn every_operation_is_described_with_its_fields() {
    let document = openapi();
    for entry in catalog() {
        let operation = &document["paths"][entry.route.path][entry.route.method.as_str().to_lowercase()];
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{}", entry.name);
        assert!(operation["responses"][entry.route.success.to_string()]["content"].is_object(), "{}", entry.name);
        let parameters = operation["parameters"].as_array().expect("parameters");
        for field in entry.route.path_fields() {
            let described = parameters.iter().find(|parameter| parameter["name"] == field).expect(field);
            assert_eq!((&described["in"], &described["required"]), (&"path".into(), &true.into()), "{}", entry.name);
            assert!(
                operation
                    .pointer(&format!("/requestBody/content/application~1json/schema/properties/{field}"))
                    .is_none()
            );
        }
    }
    let limit = document["paths"]["/issues"]["get"]["parameters"].as_array().expect("parameters");
    assert!(limit.iter().any(|parameter| parameter["name"] == "limit" && parameter["in"] == "query"), "{limit:?}");
}
