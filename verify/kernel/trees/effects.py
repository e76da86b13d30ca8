"""What acts and what does not: the lists, as data, each with its reason.

Whatever is not listed here, or proved inert by running it, acts. Names are full dotted names as
they resolve; a last name alone never counts.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Mapping
from functools import cache

from verify.kernel.trees.words import words

# From where files have their names of which nothing is known, where only a part of a tree is looked
# at. All that is called there is held to be inert: such a part can make a verdict worse, and never
# better. No import statement can spell it.
BLANK = "<blank>"


class _Table(dict[str, str]):
    """Names, each with the reason why it is listed."""

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is listed; all that is blank is."""
        return super().__contains__(name) or str(name).startswith(f"{BLANK}.")


class _Loggers(frozenset[str]):
    """Names of what makes loggers."""

    def __contains__(self, name: object) -> bool:
        """Tell whether a name is listed; what is blank is told by its own name alone."""
        last = str(name).rpartition(".")[2].replace("_", "").lower()
        blank = str(name).startswith(f"{BLANK}.") and last in ("getlogger", "initlogger")
        return blank or super().__contains__(name)


def _table(groups: Mapping[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in groups.items() for name in names.split()}


# Calls that give a value made of their arguments alone: two equal calls give the same.
PURE = _table(
    {
        "it only names a type": """
            typing.cast typing.NewType typing.TypeVar typing.ParamSpec typing.TypeVarTuple
            typing_extensions.TypeVar typing_extensions.ParamSpec typing.get_origin
            typing.get_args typing_extensions.NewType types.MappingProxyType types.SimpleNamespace
            ctypes.POINTER ctypes.sizeof ctypes.c_int ctypes.c_char_p struct.Struct
            struct.calcsize""",
        "it compiles a pattern or text": """
            re.compile re.escape string.Template textwrap.dedent fnmatch.translate""",
        "it makes a value that never changes": """
            decimal.Decimal fractions.Fraction uuid.UUID datetime.timedelta datetime.datetime
            datetime.date datetime.time datetime.timezone ipaddress.ip_address
            ipaddress.ip_network operator.attrgetter operator.itemgetter operator.methodcaller
            packaging.version.parse packaging.version.Version numpy.dtype numpy.float32
            numpy.float64 numpy.int64 numpy.int32 torch.device torch.Size enum.auto
            logging.Formatter collections.namedtuple""",
        "it computes with paths as text": """
            pathlib.Path pathlib.PurePath pathlib.PurePosixPath pathlib.Path.joinpath
            pathlib.Path.with_suffix pathlib.Path.with_name pathlib.Path.resolve
            pathlib.Path.absolute pathlib.Path.as_posix pathlib.Path.relative_to
            pathlib.Path.expanduser os.path.join os.path.dirname os.path.abspath
            os.path.basename os.path.realpath os.path.normpath os.path.splitext
            os.path.expanduser os.fspath""",
        "it computes with numbers": """
            math.sqrt math.log math.exp math.ceil math.floor math.radians math.log2 math.prod
            operator.add operator.sub operator.mul operator.truediv operator.floordiv operator.mod
            operator.pow operator.neg operator.or_ operator.and_ operator.xor operator.not_
            operator.eq operator.ne operator.lt operator.le operator.gt operator.ge""",
        "a pattern has no state": """
            re.compile.match re.compile.search re.compile.fullmatch re.compile.sub
            re.compile.split re.compile.findall""",
    }
)

# Calls that make an object of their own, which others may change.
MAKERS = _table(
    {
        "it makes an empty or given container": """
            collections.defaultdict collections.OrderedDict collections.deque collections.Counter
            collections.ChainMap weakref.WeakKeyDictionary weakref.WeakValueDictionary
            weakref.WeakSet queue.Queue array.array io.StringIO io.BytesIO""",
        "it makes a lock or a place for state": """
            threading.Lock threading.RLock threading.local threading.Event threading.Condition
            threading.Semaphore asyncio.Lock asyncio.Event contextvars.ContextVar
            multiprocessing.Lock""",
        "it wraps what it is given": """
            functools.partial functools.wraps functools.lru_cache functools.cache
            functools.singledispatch functools.cached_property functools.total_ordering
            functools.update_wrapper contextlib.contextmanager contextlib.asynccontextmanager
            contextlib.nullcontext contextlib.suppress contextlib.ExitStack typing.overload
            typing.final typing.override typing.no_type_check typing.runtime_checkable
            typing_extensions.overload typing_extensions.final typing_extensions.override
            typing_extensions.runtime_checkable typing_extensions.deprecated
            abc.abstractmethod enum.unique enum.member enum.nonmember types.coroutine
            warnings.catch_warnings atexit.unregister staticmethod""",
        "it describes fields": """
            dataclasses.dataclass dataclasses.field dataclasses.make_dataclass attr.s attr.ib
            attr.attrs attr.attrib attr.dataclass attr.define attr.frozen attr.Factory
            attrs.define attrs.frozen attrs.field attrs.Factory attrs.mutable""",
        "it makes an iterator of what it is given": """
            itertools.product itertools.count itertools.cycle itertools.repeat itertools.chain
            itertools.islice itertools.zip_longest itertools.combinations itertools.permutations
            itertools.combinations_with_replacement""",
        "it makes an array of the numbers that it is given": """
            numpy.array numpy.asarray numpy.zeros numpy.ones numpy.arange numpy.linspace""",
        "its owner looks it up by name and does nothing yet": "logging.getLogger",
        "it drops what it is given": "logging.NullHandler",
        "it marks a test, and the test's own place decides": """
            pytest.fixture pytest.param pytest.raises pytest.approx unittest.skip unittest.skipIf
            unittest.skipUnless unittest.expectedFailure unittest.mock.patch
            unittest.mock.patch.object unittest.mock.patch.dict unittest.mock.patch.multiple
            unittest.mock.MagicMock unittest.mock.Mock unittest.mock.AsyncMock
            hypothesis.given hypothesis.settings hypothesis.example
            parameterized.parameterized.expand""",
    }
)
# Managers that end an exception, of the kinds that they are made for.
SWALLOWING = words("contextlib.suppress pytest.raises")
MARKS = ("pytest.mark.",)  # each attribute is a maker of marks
# They give back what they are given, with a mark that its owner reads off the module: of a plugin.
HOOKS = frozenset({"pytest.hookimpl", "pytest.hookspec"})

# Wrappers that look for the arguments of a call among those of calls before.
CACHES = words("functools.lru_cache functools.cache")

# Outside decorators that give a callable which runs what it was given.
WRAPPERS = _table(
    {
        "calling it calls the function": """
            functools.lru_cache functools.cache contextlib.contextmanager
            contextlib.asynccontextmanager functools.wraps typing.overload abc.abstractmethod
            builtins.staticmethod builtins.classmethod functools.singledispatch typing.final
            typing.override typing_extensions.override typing_extensions.deprecated
            unittest.mock.patch unittest.mock.patch.object unittest.mock.patch.dict
            pytest.fixture unittest.skip unittest.skipIf unittest.skipUnless hypothesis.given
            hypothesis.settings hypothesis.example""",
    }
)

# Of these, what is called first, to be called with the function then.
FACTORIES = frozenset({"functools.wraps", "functools.partial"})

# Fields of a class, whose defaults may be made by a call.
FIELDS = words(
    """dataclasses.field attr.ib attr.attrib attr.Factory attr.field attrs.field attrs.Factory"""
)

# Calls that name a logger: their argument is the module's own name, whatever it is called.
LOGGERS = _Loggers({"logging.getLogger", "structlog.get_logger", "structlog.getLogger"})

# Methods that change a logger for all who have it.
TOUCHING = words("setLevel addHandler removeHandler addFilter removeFilter")

# Methods of a logger that write a record, or ask it something: it is the same afterwards.
RECORDING = words(
    """debug info warning warn error exception critical fatal log isEnabledFor getEffectiveLevel
    hasHandlers getChild"""
)

# What sees where it stands: code that uses it may not move without being read.
STANDING = _table(
    {
        "it sees the names or the frame of where it stands": """
            builtins.globals builtins.locals builtins.eval builtins.exec sys._getframe
            inspect.stack inspect.currentframe inspect.getmodule inspect.getouterframes
            traceback.extract_stack traceback.print_stack sys._current_frames""",
    }
)

# Decorators that give the class back that they were given.
SAME_CLASS = _table(
    {
        "it adds methods to the class and gives it back": """
            dataclasses.dataclass attr.s attr.attrs attr.dataclass attr.define attr.frozen
            attrs.define attrs.frozen attrs.mutable functools.total_ordering enum.unique
            typing.final typing.runtime_checkable typing_extensions.runtime_checkable
            typing_extensions.final unittest.skip unittest.skipIf unittest.skipUnless
            unittest.mock.patch unittest.mock.patch.object unittest.mock.patch.dict""",
    }
)

# Questions without effect: the same answer each time, an assumption.
QUESTIONS = _Table(
    _table(
        {
            "it asks what machine this is": """
            torch.cuda.is_available torch.cuda.device_count torch.backends.mps.is_available
            torch.version.cuda platform.system platform.machine platform.python_version
            platform.python_implementation os.cpu_count os.getcwd sys.getrecursionlimit
            shutil.which os.path.exists os.path.isdir os.path.isfile pathlib.Path.exists
            pathlib.Path.is_file pathlib.Path.is_dir pathlib.Path.home pathlib.Path.cwd""",
            "it asks what is installed": """
            importlib.util.find_spec importlib.metadata.version importlib.metadata.distribution
            importlib.resources.files pkgutil.find_loader""",
            "it asks for the time": """
            time.time time.monotonic time.perf_counter datetime.datetime.now
            datetime.datetime.utcnow""",
            "it looks at another thing's shape": """
            inspect.signature inspect.isclass inspect.isfunction inspect.getdoc
            dataclasses.fields dataclasses.is_dataclass asyncio.iscoroutinefunction""",
        }
    )
)

# Readings of outside state that the tree may change: compared by the changes so far.
READINGS = _table(
    {"it reads the environment": "os.environ.get os.getenv os.environ.items os.environ.copy"}
)
READS_OF = {"os.getenv": "os.environ"}

# Texts and numbers of the standard library, which nobody changes.
CONSTANTS = words(
    """os.sep os.pathsep os.linesep os.name os.altsep os.curdir os.pardir os.extsep os.devnull
    sys.platform sys.version sys.version_info sys.hexversion sys.byteorder sys.maxsize
    sys.maxunicode sys.executable sys.prefix sys.base_prefix string.ascii_letters
    string.ascii_lowercase string.ascii_uppercase string.digits string.hexdigits string.punctuation
    string.whitespace string.printable math.pi math.e math.inf math.nan math.tau"""
)

# Methods of texts that give a plain value, and are handed plain values.
ASKS_TEXTS = words(
    """startswith endswith lower upper casefold strip lstrip rstrip split rsplit partition
    rpartition replace removeprefix removesuffix find count title isdigit"""
)

# Calls that give what the names of a module are annotated with.
EVALUATING = words(
    """typing.get_type_hints typing_extensions.get_type_hints inspect.get_annotations
    annotationlib.get_annotations"""
)

# Classes that can be a base without anything happening.
BASES = _Table(
    _table(
        {
            "its metaclass and hooks look at the new class alone": """
            enum.Enum enum.IntEnum enum.Flag enum.IntFlag enum.StrEnum abc.ABC typing.NamedTuple
            typing.TypedDict typing.Protocol typing.Generic typing_extensions.TypedDict
            typing_extensions.Protocol typing_extensions.NamedTuple unittest.TestCase
            unittest.IsolatedAsyncioTestCase json.JSONEncoder json.JSONDecoder threading.Thread
            threading.local collections.OrderedDict collections.UserDict collections.UserList
            collections.abc.Mapping collections.abc.MutableMapping collections.abc.Sequence
            collections.abc.Iterator collections.abc.Iterable collections.abc.Callable
            collections.abc.Set collections.abc.Hashable collections.defaultdict
            contextlib.ContextDecorator contextlib.AbstractContextManager logging.Handler
            logging.Filter logging.Formatter logging.Logger logging.LoggerAdapter ast.NodeVisitor
            ast.NodeTransformer argparse.Action argparse.ArgumentParser string.Formatter
            io.StringIO io.BytesIO io.RawIOBase torch.nn.Module torch.autograd.Function
            torch.nn.Parameter numpy.ndarray""",
            "it is one of these classes by another name": """
            typing.AbstractSet typing.AsyncContextManager typing.AsyncGenerator
            typing.AsyncIterable typing.AsyncIterator typing.Awaitable typing.ChainMap
            typing.Collection typing.Container typing.ContextManager typing.Coroutine
            typing.Counter typing.DefaultDict typing.Deque typing.Dict typing.FrozenSet
            typing.Generator typing.Hashable typing.ItemsView typing.Iterable typing.Iterator
            typing.KeysView typing.List typing.Mapping typing.MutableMapping
            typing.MutableSequence typing.MutableSet typing.OrderedDict typing.Reversible
            typing.Sequence typing.Set typing.Sized typing.Tuple typing.ValuesView""",
            "its metaclass is plain, and so is making one of it": """
            argparse.HelpFormatter argparse.Namespace argparse.RawDescriptionHelpFormatter
            argparse.RawTextHelpFormatter argparse.ArgumentDefaultsHelpFormatter asyncio.Protocol
            asyncio.DatagramProtocol cmd.Cmd code.InteractiveInterpreter code.InteractiveConsole
            codecs.Codec codecs.IncrementalDecoder codecs.IncrementalEncoder codecs.StreamReader
            codecs.StreamWriter collections.ChainMap collections.Counter collections.UserString
            collections.abc.AsyncIterable collections.abc.AsyncIterator collections.abc.Awaitable
            collections.abc.Collection collections.abc.Container collections.abc.Coroutine
            collections.abc.AsyncGenerator
            collections.abc.Generator collections.abc.ItemsView collections.abc.KeysView
            collections.abc.MutableSequence collections.abc.MutableSet collections.abc.Reversible
            collections.abc.Sized
            collections.abc.ValuesView collections.deque concurrent.futures.Executor
            configparser.ConfigParser configparser.RawConfigParser
            contextlib.AbstractAsyncContextManager contextlib.AsyncExitStack contextlib.ExitStack
            contextlib.nullcontext csv.Dialect datetime.date datetime.datetime datetime.timedelta
            datetime.tzinfo decimal.Decimal doctest.OutputChecker email.message.Message
            fractions.Fraction gettext.NullTranslations html.parser.HTMLParser
            http.client.HTTPConnection http.client.HTTPSConnection http.cookiejar.CookieJar
            http.cookiejar.DefaultCookiePolicy importlib.abc.Loader importlib.abc.MetaPathFinder
            importlib.abc.SourceLoader io.BufferedIOBase io.IOBase io.TextIOBase
            logging.NullHandler logging.StreamHandler numbers.Number numbers.Real
            optparse.HelpFormatter optparse.IndentedHelpFormatter optparse.Option
            optparse.OptionParser optparse.Values pathlib.Path pathlib.PurePath
            pprint.PrettyPrinter queue.LifoQueue queue.PriorityQueue queue.Queue
            textwrap.TextWrapper threading.Timer types.ModuleType types.SimpleNamespace
            unittest.TestLoader unittest.TestResult unittest.TestSuite unittest.TextTestResult
            urllib.request.BaseHandler urllib.request.Request uuid.UUID weakref.WeakKeyDictionary
            weakref.WeakValueDictionary xml.sax.handler.ContentHandler""",
        }
    )
)
# Of these, the ones whose metaclass calls methods of the new class for each of its members.
ENUMS = words(
    """enum.Enum enum.IntEnum enum.Flag enum.IntFlag enum.StrEnum enum.ReprEnum
    django.db.models.TextChoices django.db.models.IntegerChoices"""
)
# Metaclasses that do nothing to others.
METACLASSES = _table(
    {"it looks at the new class alone": "abc.ABCMeta enum.EnumMeta enum.EnumType builtins.type"}
)

# Built-in functions that do nothing but call their argument's own methods.
PLAIN = words(
    """len list tuple sorted str int bool sum min max repr hash any all enumerate zip set frozenset
    dict iter callable id issubclass isinstance range float abs round ord chr bytes bytearray
    complex divmod format hex oct bin pow reversed slice map filter next ascii memoryview type
    property staticmethod classmethod object super"""
)
# Of these, what gives an iterator: whoever runs through it changes what is left.
ITERATORS = frozenset(
    f"builtins.{name}" for name in ("iter", "map", "filter", "zip", "enumerate", "reversed")
) | {name for name in MAKERS if name.startswith("itertools.")}
# What shows another object as it is when it is read.
SHOWING = frozenset({"collections.ChainMap", "types.MappingProxyType"})
NAMES_OF_BUILTINS = frozenset(dir(builtins))

# Modules that an import finds wherever Python runs, and that do nothing that anybody sees.
STANDARD = frozenset(sys.stdlib_module_names) - {"this", "antigravity"}
AT_HAND = frozenset({"pytest", "setuptools", "_pytest"})  # what runs the tree brings these

# Methods that change a container.
CHANGING = words(
    """append extend insert clear pop remove sort reverse add update setdefault discard popitem
    __setitem__ __delitem__ appendleft extendleft intersection_update difference_update
    symmetric_difference_update"""
)

# Functions that replace a module's name, by their last name: whoever calls them writes.
PATCHING = frozenset({"patch", "object", "setattr", "delattr", "multiple", "dict", "spy"})


@cache
def errors() -> Mapping[str, type[BaseException]]:
    """Give the exceptions of the Python that judges, by their names."""
    return {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }


def targeted(call: ast.Call) -> ast.expr | None:
    """Give what a call of these would replace something of: its first argument, or `target`."""
    words = (word.value for word in call.keywords if word.arg == "target")
    return call.args[0] if call.args else next(words, None)


def is_mark(name: str) -> bool:
    """Tell whether a name is one of pytest's marks."""
    return name.startswith(MARKS) or name in HOOKS


def asks_text(name: str) -> bool:
    """Tell whether a method asks a text of the standard library, which nobody changes."""
    owner, _, last = name.rpartition(".")
    return owner in CONSTANTS and last in ASKS_TEXTS


def inert_call(name: str) -> bool:
    """Tell whether a call of the outside is listed as one that does nothing."""
    return asks_text(name) or name in PURE or name in MAKERS or name in QUESTIONS or is_mark(name)
