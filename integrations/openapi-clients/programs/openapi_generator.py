"""With the Python client of openapi-generator."""

import json
import sys

from openapi_client import (
    ApiClient,
    Configuration,
    DocumentInput,
    DocumentInputOrList,
    DocumentsTodosApi,
    FilesApi,
    ErrorCode,
    Problem,
    TodosDocument,
)
from openapi_client.exceptions import ApiException

client = ApiClient(Configuration(host=sys.argv[1]))
todos, files = DocumentsTodosApi(client), FilesApi(client)

body = DocumentInput(additional_properties={"title": "Buy milk", "stars": 5})
created = todos.create_todos_document_with_http_info(DocumentInputOrList(body))
document = created.data.actual_instance
assert isinstance(document, TodosDocument) and document.id is not None and created.headers is not None
etag = created.headers["etag"]

found = todos.list_todos_documents(filter='{"stars":{"$gte":5}}', sort="-stars")
changed = todos.update_todos_document(document.id, {"done": True}, if_match=etag)
try:
    todos.update_todos_document(document.id, {"done": False}, if_match=etag)
    raise SystemExit("changed")
except ApiException as error:
    problem = error.data
assert isinstance(problem, Problem)
code: ErrorCode = problem.code

file = files.upload_file(("hello.txt", b"hello"), metadata='{"of":"python"}')
assert file.id is not None
files.delete_file(file.id)
gone = todos.delete_todos_document_with_http_info(document.id, prefer="return=minimal")

print(
    json.dumps(
        {
            "titles": [one.title for one in found],
            "done": changed.done,
            "problem": {"status": problem.status, "code": code.value},
            "file": {"name": file.name, "size": file.size},
            "deleted": gone.status_code,
        }
    )
)
