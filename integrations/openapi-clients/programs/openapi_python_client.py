"""With openapi-python-client."""

import json
import sys
from io import BytesIO

from millrace_client import Client
from millrace_client.api.documentstodos import (
    create_todos_document,
    delete_todos_document,
    list_todos_documents,
    replace_todos_document,
)
from millrace_client.api.files import delete_file, upload_file
from millrace_client.models import (
    DocumentContent,
    DocumentInput,
    ErrorCode,
    Problem,
    StoredFile,
    TodosDocument,
    UploadFileBody,
)
from millrace_client.types import File

client = Client(base_url=sys.argv[1])

created = create_todos_document.sync_detailed(
    client=client, body=DocumentInput.from_dict({"title": "Buy milk", "stars": 5})
)
document = created.parsed
assert isinstance(document, TodosDocument) and isinstance(document.id, str)
etag = created.headers["etag"]

found = list_todos_documents.sync(client=client, filter_='{"stars":{"$gte":5}}', sort="-stars")
assert isinstance(found, list)
# It cannot send a body that may also be a list, as a JSON Patch is: the change is a whole document.
done = DocumentContent.from_dict({"title": "Buy milk", "stars": 5, "done": True})
changed = replace_todos_document.sync(document.id, client=client, body=done, if_match=etag)
assert isinstance(changed, TodosDocument)
problem = replace_todos_document.sync(document.id, client=client, body=done, if_match=etag)
assert isinstance(problem, Problem)
code: ErrorCode = problem.code

upload = UploadFileBody(file=File(BytesIO(b"hello"), file_name="hello.txt"), metadata='{"of":"python"}')
file = upload_file.sync(client=client, body=upload)
assert isinstance(file, StoredFile) and isinstance(file.id, str)
delete_file.sync(file.id, client=client)
gone = delete_todos_document.sync_detailed(document.id, client=client, prefer="return=minimal")

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
