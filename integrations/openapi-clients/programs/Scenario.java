import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.JSON;
import org.openapitools.client.api.DocumentsTodosApi;
import org.openapitools.client.api.FilesApi;
import org.openapitools.client.model.CreateTodosDocument201Response;
import org.openapitools.client.model.DocumentInput;
import org.openapitools.client.model.DocumentInputOrList;
import org.openapitools.client.model.ErrorCode;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.StoredFile;
import org.openapitools.client.model.TodosDocument;

/** With the Java client of openapi-generator. */
public final class Scenario {
  private Scenario() {}

  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient().setBasePath(arguments[0]);
    DocumentsTodosApi todos = new DocumentsTodosApi(client);
    FilesApi files = new FilesApi(client);

    DocumentInput input = new DocumentInput();
    input.putAdditionalProperty("title", "Buy milk");
    input.putAdditionalProperty("stars", 5);
    ApiResponse<CreateTodosDocument201Response> created =
        todos.createTodosDocumentWithHttpInfo(new DocumentInputOrList(input), null, null);
    String id = created.getData().getTodosDocument().getId();
    String etag = created.getHeaders().get("etag").get(0);

    String filter = "{\"stars\":{\"$gte\":5}}";
    List<TodosDocument> found =
        todos.listTodosDocuments(filter, null, "-stars", null, null, null, null, null, null, null);
    List<String> titles = found.stream().map(TodosDocument::getTitle).toList();

    TodosDocument changed = todos.updateTodosDocument(id, Map.of("done", true), etag, null, null);
    Problem problem = null;
    try {
      todos.updateTodosDocument(id, Map.of("done", false), etag, null, null);
    } catch (ApiException error) {
      problem = Problem.fromJson(error.getResponseBody());
    }
    ErrorCode code = problem.getCode();

    Path bytes = Path.of("hello.txt");
    Files.writeString(bytes, "hello");
    StoredFile file = files.uploadFile(bytes.toFile(), "{\"of\":\"java\"}");
    files.deleteFile(file.getId(), null, null);
    int gone = todos.deleteTodosDocumentWithHttpInfo(id, null, "return=minimal", null).getStatusCode();

    Map<String, Object> result = new LinkedHashMap<>();
    result.put("titles", titles);
    result.put("done", changed.getDone());
    result.put("problem", Map.of("status", problem.getStatus(), "code", code.getValue()));
    result.put("file", Map.of("name", file.getName(), "size", file.getSize()));
    result.put("deleted", gone);
    System.out.println(JSON.getGson().toJson(result));
  }
}
