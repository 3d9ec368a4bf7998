// Judges deliveries by the sample of docs/webhooks.md; see driver.mjs.
mod webhook;

use base64::{engine::general_purpose::STANDARD, Engine};
use std::io::BufRead;

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let fields: Vec<Vec<u8>> = line.split('\t').map(|field| STANDARD.decode(field).expect("base64")).collect();
        let text = |i: usize| String::from_utf8(fields[i].clone()).expect("text");
        let list = text(0);
        let secrets: Vec<&str> = list.split(',').collect();
        println!("{}", webhook::is_genuine(&secrets, &text(1), &text(2), &text(3), &fields[4]));
    }
}
