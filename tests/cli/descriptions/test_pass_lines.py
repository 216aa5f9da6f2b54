"""Lines of `bigtensor info` on passes: iterations of one name share a line."""

from bigtensor.cli.descriptions.model_info import pass_lines


def test_pass_lines__join_iterations_of_one_name() -> None:
    names = ["triples", *(f"messages {n}" for n in (1, 2, 1)), "messages without order"]
    passes = [{"name": name, "rows": 900, "parts": 1, "reused_parts": 0} for name in names]
    passes[2]["reused_parts"] = 1
    triples, messages, without_order = pass_lines(passes)
    assert triples.split()[:2] == ["triples", "900"]
    assert messages.split()[:2] == ["messages", "900"]
    assert "3 times, 1 from" in messages
    assert without_order.split()[:4] == ["messages", "without", "order", "900"]
    assert "times" not in triples + without_order
