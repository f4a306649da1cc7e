//! Puts rdkafka through one of the scenarios that language_cases.py describes:
//!
//! ```text
//! BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS clients rdkafka SCENARIO TOPIC [CODEC]
//! ```
//!
//! It prints one line of JSON, and ends with 0 when the scenario came to its end; what it saw there
//! is judged by whoever called.

mod client;
mod records;
mod scenarios;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (scenario, topic, codec) = match given[..] {
        ["rdkafka", scenario, topic] => (scenario, topic, "none"),
        ["rdkafka", scenario, topic, codec] => (scenario, topic, codec),
        _ => return usage(),
    };
    let (Ok(bootstrap), Some(run)) = (std::env::var("BOOTSTRAP"), scenarios::named(scenario))
    else {
        return usage();
    };
    if records::set_base_timestamp().is_none() {
        return usage();
    }
    let outcome = run(&client::Client::new(bootstrap), topic, codec);
    let ok = outcome.is_ok();
    let mut told =
        outcome.unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }));
    told["scenario"] = scenario.into();
    told["ok"] = ok.into();
    println!("{told}");
    if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: BOOTSTRAP=HOST:PORT BASE_TIMESTAMP=MS clients rdkafka SCENARIO TOPIC [CODEC]"
    );
    ExitCode::from(2)
}
