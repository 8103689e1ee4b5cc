"""The price book and estimates over HTTP: everybody sees them, the team that runs the installation changes prices."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared
from backend.prices import actions, estimate_schemas, estimates, queries, schemas

router = Router(tags=["costs"])


@router.get("/prices", operation_id="list_prices", response=schemas.PricePage)
def list_prices(request: HttpRequest, wanted: Query[schemas.PriceFilter], page: Query[PageQuery]) -> HttpResponse:
    """What things cost, from when on, and who says so: prices of all times, last added first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_prices(who, page, **wanted.dict()))


@router.post("/prices", operation_id="upload_prices", response={201: schemas.PricesUploaded})
def upload_prices(request: HttpRequest, upload: schemas.PriceUpload) -> HttpResponse:
    """Prices of this installation's own. They begin at a full hour to come and change nothing that is past."""
    return prepared(actions.upload(identity(request), upload.prices), status=201)


@router.delete("/prices/{price_id}", operation_id="take_back_price", response={204: None})
def take_back_price(request: HttpRequest, price_id: str) -> HttpResponse:
    """One that has not begun is removed; one in force ends at the coming full hour, and the list's counts again."""
    actions.take_back(identity(request), price_id)
    return HttpResponse(status=204)


@router.get("/price-lists", operation_id="list_price_lists", response=schemas.PriceListPage)
def list_price_lists(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """When each region's prices were last read from its provider's price list, and why they were not."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_price_lists(page))


@router.post("/estimates", operation_id="estimate_cost", response=estimate_schemas.EstimateAnswer)
def estimate_cost(request: HttpRequest, order: estimate_schemas.EstimateOrder) -> HttpResponse:
    """What a cluster would cost, line by line, on demand and reserved, beside alternatives. Changes nothing."""
    require(identity(request), Permission.CLUSTERS_READ)
    return prepared(estimates.answer(order))


@router.post("/estimates/dynamodb", operation_id="estimate_dynamodb", response=estimate_schemas.DynamoDbAnswer)
def estimate_dynamodb(request: HttpRequest, order: estimate_schemas.DynamoDbOrder) -> HttpResponse:
    """What the same load would cost at Amazon DynamoDB, with the formula and dated unit prices. Changes nothing."""
    require(identity(request), Permission.CLUSTERS_READ)
    return prepared(estimates.dynamodb_answer(order))
