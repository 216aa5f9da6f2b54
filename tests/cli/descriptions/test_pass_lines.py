"""Lines of `bigtensor info` on passes: iterations of one name share a line."""

from bigtensor.cli.descriptions.model_info import pass_lines


def test_pass_lines__join_iterations_of_one_name() -> None:
    names = ["triples", *(f"messages {n}" for n in (1, 2, 1)), "messages without order"]
    passes = [{"name": name, "rows": 900, "parts": 1, "reused_parts": 0} for name in names]
    passes[2]["reused_parts"] = 1
    lines = [" ".join(line.split()) for line in pass_lines(passes)]
    assert lines == [
        "triples 900 rows in 1 part",
        "messages 900 rows in 1 part, 3 times, 1 from the checkpoint",
        "messages without order 900 rows in 1 part",
    ]
