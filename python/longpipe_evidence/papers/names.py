"""Names of factor levels, as the papers write them."""

from typing import Final

NAMES: Final = {
    "vanilla": "Vanilla",
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "vegas": "Vegas",
    "tail-drop": "UBR",
    "epd": "EPD",
    "selective-drop": "Selective Drop",
    "fba": "FBA",
    "lan": "LAN",
    "wan": "WAN",
    "satellite": "satellite",
    "leo": "LEO",
    "multi-leo": "several LEO hops",
    "meo": "MEO",
    "geo": "GEO",
}
