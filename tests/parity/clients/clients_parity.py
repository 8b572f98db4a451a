#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs' real clients against a running `weft serve`: the packages of openai, LangChain, LlamaIndex, Hugging Face, Cohere and Jina's class in
LangChain. Run it with any Python: it installs them into .venv-parity-clients, about 500 MB. With --record it writes what they send to
tests/fixtures/clients/requests.json, which tests/service/serve_test.py sends again without them."""
import argparse
import http.client
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv-parity-clients"
REQUIREMENTS = ROOT / "scripts/requirements-clients.txt"
RECORDED = ROOT / "tests/fixtures/clients/requests.json"
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/service")]
TEXTS = ["A loom stood by the window.", "the weaver worked near the glass"]
QUERY, DOCUMENTS = "who weaves?", ["interest rates rose again", "the weaver weaves", "a loom"]
# Fields of a head that a server may look at; others say something of the client's machine.
RECORDED_FIELDS = {"accept", "authorization", "content-type"}


def run_in_environment():
    """Goes on with the clients' Python, which is made first where it is not there or is of other versions."""
    wanted = REQUIREMENTS.read_text()
    mark = VENV / ".weft-requirements"
    if not mark.exists() or mark.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin/python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS], check=True)
        mark.write_text(wanted)
    os.execv(VENV / "bin/python3", [str(VENV / "bin/python3"), *sys.argv])


class Recorder(http.server.BaseHTTPRequestHandler):
    """Hands requests on to the server and keeps them under the name of the client that is at work."""

    protocol_version = "HTTP/1.1"
    target, client, found = 0, "", {}

    def do_POST(self):  # noqa: N802: the name that the module calls
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length", "connection")}
        kept = {"path": self.path, "headers": {name: value for name, value in headers.items() if name.lower() in RECORDED_FIELDS}, "body": body.decode()}
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60)
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        kept["status"] = answer.status
        if kept not in self.found.setdefault(self.client, []):
            self.found[self.client].append(kept)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    def log_message(self, *arguments):
        pass


def near(found, wanted, most=1e-5):
    assert len(found) == len(wanted), (len(found), len(wanted))
    for one, other in zip(found, wanted):
        if isinstance(other, (list, tuple)):
            near(one, other, most)
        else:
            assert abs(one - other) < most, (one, other)


def fails(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def ask_openai(where, vectors):
    import openai
    client = openai.OpenAI(base_url=f"{where}/v1", api_key="none", max_retries=0)
    answer = client.embeddings.create(model="embedder", input=TEXTS)
    near([one.embedding for one in answer.data], vectors)
    assert answer.model == "embedder" and answer.usage.prompt_tokens == answer.usage.total_tokens > 0
    near(client.embeddings.create(model="embedder", input=TEXTS[0], encoding_format="float").data[0].embedding, vectors[0])
    assert len(client.embeddings.create(model="embedder", input=TEXTS, dimensions=8, user="me").data[1].embedding) == 8
    error = fails(openai.NotFoundError, lambda: client.embeddings.create(model="text-embedding-3-small", input=TEXTS))
    assert (error.code, error.param, error.type) == ("model_not_found", "model", "invalid_request_error"), error
    error = fails(openai.BadRequestError, lambda: client.embeddings.create(model="embedder", input=TEXTS, dimensions=10 ** 6))
    assert error.param == "dimensions" and "dimensions" in str(error), error


def ask_langchain(where, vectors):
    from langchain_openai import OpenAIEmbeddings
    settings = {"model": "embedder", "base_url": f"{where}/v1", "api_key": "none", "max_retries": 0}
    embeddings = OpenAIEmbeddings(check_embedding_ctx_length=False, **settings)
    near(embeddings.embed_documents(TEXTS), vectors)
    near(embeddings.embed_query(TEXTS[0]), vectors[0])


def ask_langchain_with_ids(where, vectors):
    """As it is by default: ids of OpenAI's tokeniser. They are refused in words that say what to set."""
    import openai
    import tiktoken
    from langchain_openai import OpenAIEmbeddings
    # The real encoding would be fetched from the Internet: one whose tokens are bytes stands in, with ids like those of the real one.
    encoding = tiktoken.Encoding("bytes", pat_str=r"\S+|\s+", mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={})
    tiktoken.encoding_for_model = tiktoken.get_encoding = lambda *arguments: encoding
    embeddings = OpenAIEmbeddings(model="embedder", base_url=f"{where}/v1", api_key="none", max_retries=0)
    error = fails(openai.BadRequestError, lambda: embeddings.embed_documents(TEXTS))
    assert "check_embedding_ctx_length=False" in str(error), error


def ask_hugging_face(where, vectors):
    from huggingface_hub import InferenceClient
    near(InferenceClient(model=where).feature_extraction(TEXTS).tolist(), vectors)
    (alike,) = InferenceClient(model=f"{where}/similarity").sentence_similarity(TEXTS[0], other_sentences=[TEXTS[1]])
    assert abs(alike - sum(a * b for a, b in zip(*vectors))) < 1e-5, alike


def ask_langchain_of_hugging_face(where, vectors):
    from huggingface_hub import InferenceClient
    from langchain_huggingface import HuggingFaceEndpointEmbeddings
    embeddings = HuggingFaceEndpointEmbeddings(model="some/model", huggingfacehub_api_token="none")
    embeddings.client = InferenceClient(model=f"{where}/embed")  # later versions take no address themselves
    near(embeddings.embed_documents(TEXTS), vectors)


def ask_llama_index(where, vectors):
    from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference
    embeddings = TextEmbeddingsInference(model_name="embedder", base_url=where)
    near(embeddings.get_text_embedding_batch(TEXTS), vectors)
    near(embeddings.get_query_embedding(TEXTS[0]), vectors[0])


def ask_llama_index_reranker(where, scores):
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in DOCUMENTS]
    found = TextEmbeddingInference(base_url=where, top_n=2).postprocess_nodes(nodes, QueryBundle(QUERY))
    best = sorted(zip(scores, DOCUMENTS), reverse=True)[:2]
    assert [node.text for node in found] == [text for _, text in best], found
    near([node.score for node in found], [score for score, _ in best])


def ask_cohere(where, scores):
    import cohere
    order = sorted(range(3), key=lambda index: -scores[index])
    for client in (cohere.ClientV2(api_key="none", base_url=where), cohere.Client(api_key="none", base_url=where)):
        answer = client.rerank(model="reranker", query=QUERY, documents=DOCUMENTS, top_n=2)
        assert [one.index for one in answer.results] == order[:2], answer
        near([one.relevance_score for one in answer.results], [scores[index] for index in order[:2]])
        fails(cohere.NotFoundError, lambda: client.rerank(model="rerank-v3.5", query=QUERY, documents=DOCUMENTS))


def ask_jina(where, scores):
    from langchain_community.document_compressors import jina_rerank
    jina_rerank.JINA_API_URL = f"{where}/v1/rerank"
    found = jina_rerank.JinaRerank(jina_api_key="none", model="reranker").rerank(DOCUMENTS, QUERY)
    assert [one["index"] for one in found] == sorted(range(3), key=lambda index: -scores[index]), found
    error = fails(RuntimeError, lambda: jina_rerank.JinaRerank(jina_api_key="none", model="other").rerank(DOCUMENTS, QUERY))
    assert "reranker" in str(error), error


EMBED = (ask_openai, ask_langchain, ask_langchain_with_ids, ask_hugging_face, ask_langchain_of_hugging_face, ask_llama_index)
RERANK = (ask_llama_index_reranker, ask_cohere, ask_jina)


def ask_all(server, clients, wanted):
    """Each client by itself, through the recorder."""
    Recorder.target = server.port
    between = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=between.serve_forever, daemon=True).start()
    for client in clients:
        Recorder.client = client.__name__.removeprefix("ask_")
        client(f"http://127.0.0.1:{between.server_port}", wanted)
        print(f"{Recorder.client}: {len(Recorder.found[Recorder.client])} kinds of requests")
    between.shutdown()
    server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        run_in_environment()
    os.environ.setdefault("WEFT_BINARY", str(ROOT / "build/release/bin/weft"))
    from encoder_program import make_model, results
    from serve_test import Server
    with tempfile.TemporaryDirectory() as folder:
        embedder = make_model(pathlib.Path(folder) / "embedder", "bert", "none")
        reranker = make_model(pathlib.Path(folder) / "reranker", "bert", "sequence-classification", "--labels", "relevant")
        vectors = [line["result"] for line in results("embed", embedder, "--normalize", *TEXTS)]
        (line,) = results("rerank", reranker, QUERY, *DOCUMENTS)
        scores = [score for _, score in sorted((entry["index"], entry["score"]) for entry in line["result"])]
        ask_all(Server(embedder), EMBED, vectors)
        ask_all(Server(reranker), RERANK, scores)
    if options.record:
        RECORDED.write_text(json.dumps(Recorder.found, indent=1) + "\n")


if __name__ == "__main__":
    main()
