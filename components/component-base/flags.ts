/** Flags: typed declarations of a process's options, read from the command line or from a JSON file with the same names. */
import { readFileSync } from 'node:fs'
import { parseFailure } from './parse-failure.ts'

/** Durations are milliseconds in code and `40s`, `5m`, `1h0m0s` or `1.5h` on the command line. */
export interface FlagTypes {
  string: string
  int: number
  float: number
  bool: boolean
  duration: number
  list: readonly string[]
  map: Readonly<Record<string, string>>
}

export type FlagType = keyof FlagTypes

export interface Flag<T extends FlagType = FlagType, V = FlagTypes[T]> {
  readonly type: T
  /** One line for --help. */
  readonly description: string
  /** The value when the flag is not given; undefined means the flag has no value then. */
  readonly default: V
  /** Allowed values of a string. */
  readonly choices?: readonly string[]
  /** Still read, no longer shown. */
  readonly hidden?: boolean
  /** Of a list: commas belong to the values. */
  readonly isWhole?: boolean
  /** Of --config: the file may be a document with a `kind`, which the process reads itself. */
  readonly mayBeDocument?: boolean
  /** The least value of a number or duration. */
  readonly least?: number
  /** The flag still works; the warning about it ends with this text, after "has been deprecated, ". */
  readonly deprecated?: string
}

// oxlint-disable-next-line typescript/no-explicit-any -- the default's type is the flag's own
export type FlagDeclarations = Readonly<Record<string, Flag<FlagType, any>>>

/** Values by flag name as spelled on the command line: `flags['secure-port']`. */
export type FlagValues<D extends FlagDeclarations> = {
  readonly [K in keyof D]: D[K] extends Flag<FlagType, infer V> ? V : never
}

/** A command line or configuration file that cannot be used; the message is one line for the user. */
export class FlagError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'FlagError'
  }
}

type Options = Pick<
  Flag,
  'choices' | 'hidden' | 'isWhole' | 'mayBeDocument' | 'least' | 'deprecated'
>

function declaring<T extends FlagType>(type: T) {
  function flag(description: string, value: FlagTypes[T], options?: Options): Flag<T>
  function flag(
    description: string,
    value?: undefined,
    options?: Options,
  ): Flag<T, FlagTypes[T] | undefined>
  function flag(
    description: string,
    value?: FlagTypes[T],
    options: Options = {},
  ): Flag<T, FlagTypes[T] | undefined> {
    return { type, description, default: value, ...options }
  }
  return flag
}

/** Declarations of one flag each: `flag.int('The port.', 6443)`. Without a default the value may be undefined. */
export const flag = {
  string: declaring('string'),
  int: declaring('int'),
  float: declaring('float'),
  bool: declaring('bool'),
  duration: declaring('duration'),
  /** Repeatable, and comma separated. */
  list: declaring('list'),
  /** `key=value`, repeatable, and comma separated. */
  map: declaring('map'),
}

/** Keeps the exact type of a set of declarations. */
export function defineFlags<D extends FlagDeclarations>(declarations: D): D {
  return declarations
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** `1h0m0s` -> 3600000; undefined for text that is no duration. A bare `0` is allowed (Go's time.ParseDuration). */
export function parseDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0
  if (!/^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined
  let total = 0
  for (const [, number, unit] of text.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(number) * (unitMs[unit ?? ''] ?? 0)
  }
  return text.startsWith('-') ? -total : total
}

/** The inverse of parseDuration for whole milliseconds: 3600000 -> `1h0m0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s'
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms < 1000) return `${ms}ms`
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor((ms % 3_600_000) / 60_000)
  const seconds = (ms % 60_000) / 1000
  const tail = `${seconds}s`
  if (hours > 0) return `${hours}h${minutes}m${tail}`
  return minutes > 0 ? `${minutes}m${tail}` : tail
}

/** Edit distance of two short words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** The name most like `word`, if any is like it at all. */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, far: distance(word, name) }))
    .toSorted((a, b) => a.far - b.far)
  const best = ranked[0]
  return best !== undefined && best.far <= Math.max(2, word.length / 3) ? best.name : undefined
}

function checkLeast(name: string, declared: Flag, value: unknown): void {
  const { least, type } = declared
  if (least === undefined || !(typeof value === 'number' && value < least)) return
  const text = type === 'duration' ? formatDuration : String
  throw new FlagError(
    `invalid value "${text(value)}" for --${name}: must not be below ${text(least)}`,
  )
}

function parseText(name: string, declared: Flag, text: string, earlier: unknown): unknown {
  const refuse = (why: string): never => {
    throw new FlagError(`invalid value "${text}" for --${name}: ${why}`)
  }
  switch (declared.type) {
    case 'string':
      if (declared.choices !== undefined && !declared.choices.includes(text))
        refuse(`must be one of ${declared.choices.join(', ')}`)
      return text
    case 'int':
      return /^[+-]?\d+$/.test(text) ? Number(text) : refuse('must be a whole number')
    case 'float':
      return /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : refuse('must be a number')
    case 'bool':
      if (/^(true|1|t)$/i.test(text)) return true
      return /^(false|0|f)$/i.test(text) ? false : refuse('must be true or false')
    case 'duration':
      return parseDuration(text) ?? refuse('must be a duration such as 40s, 5m or 1h0m0s')
    case 'list': {
      const items =
        text === ''
          ? []
          : declared.isWhole === true
            ? [text]
            : text.split(',').map((item) => item.trim())
      return [...((earlier as string[] | undefined) ?? []), ...items]
    }
    case 'map': {
      const pairs: Record<string, string> = { ...(earlier as Record<string, string> | undefined) }
      for (const pair of text === '' ? [] : text.split(',')) {
        const at = pair.indexOf('=')
        if (at < 1) refuse('must be key=value')
        pairs[pair.slice(0, at).trim()] = pair.slice(at + 1)
      }
      return pairs
    }
  }
}

/** A value of a configuration file: JSON of the flag's own type, or the text the command line would take. */
function parseJson(name: string, declared: Flag, value: unknown): unknown {
  if (typeof value === 'string') return parseText(name, declared, value, undefined)
  const fits =
    (declared.type === 'bool' && typeof value === 'boolean') ||
    (declared.type === 'int' && Number.isSafeInteger(value)) ||
    (['duration', 'float'].includes(declared.type) && typeof value === 'number') ||
    (declared.type === 'list' &&
      Array.isArray(value) &&
      value.every((item) => typeof item === 'string')) ||
    (declared.type === 'map' &&
      typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((item) => typeof item === 'string'))
  if (!fits) throw new FlagError(`invalid value for ${name} in the configuration file`)
  return value
}

function declaredFlag(declarations: FlagDeclarations, name: string): Flag {
  const declared = Object.hasOwn(declarations, name) ? declarations[name] : undefined
  if (declared !== undefined) return declared
  const nearest = nearestName(name, Object.keys(declarations))
  const hint = nearest === undefined ? '' : `; did you mean --${nearest}?`
  throw new FlagError(`unknown flag --${name}${hint}`)
}

function readConfig<D extends FlagDeclarations>(path: string, declarations: D): object {
  const mayBeDocument = declarations['config']?.mayBeDocument === true
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new FlagError(`cannot read --config ${path}: ${(error as Error).message}`, error)
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    if (mayBeDocument) return {}
    throw new FlagError(`cannot read --config ${path}: ${parseFailure(error)}`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new FlagError(`--config ${path} must hold a JSON object of flag values`)
  if (mayBeDocument && Object.hasOwn(parsed, 'kind')) return {}
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(parsed)) {
    values[name] = parseJson(name, declaredFlag(declarations, name), value)
  }
  return values
}

/** Values of `--name=value`, `--name value`, `--bool` and `--bool=false`; underscores count as dashes, as upstream. */
function readArguments<D extends FlagDeclarations>(args: readonly string[], declarations: D) {
  const values: Record<string, unknown> = {}
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    const match = /^--?([a-zA-Z][^=]*)(?:=([\s\S]*))?$/.exec(arg)
    if (match === null) throw new FlagError(`unexpected argument "${arg}"`)
    const name = (match[1] ?? '').replaceAll('_', '-')
    const declared = declaredFlag(declarations, name)
    let text = match[2]
    if (text === undefined) {
      if (declared.type === 'bool') text = 'true'
      else {
        index += 1
        text = args[index]
        if (text === undefined) throw new FlagError(`--${name} needs a value`)
      }
    }
    values[name] = parseText(name, declared, text, values[name])
  }
  return values
}

/**
 * Reads a command line (without the program's name). A flag given there wins over the `config` file named by `--config`
 * (when that flag is declared), which wins over the default. It calls `warn` once for each deprecated flag that was given.
 * Throws FlagError.
 */
export function parseFlags<D extends FlagDeclarations>(
  declarations: D,
  args: readonly string[],
  warn?: (text: string) => void,
): FlagValues<D> {
  const defaults = Object.fromEntries(
    Object.entries(declarations).map(([name, declared]) => [name, declared.default as unknown]),
  )
  const given = readArguments(args, declarations)
  const file = typeof given['config'] === 'string' ? readConfig(given['config'], declarations) : {}
  const set = { ...file, ...given }
  for (const [name, value] of Object.entries(set)) {
    const declared = declarations[name]
    if (declared !== undefined) checkLeast(name, declared, value)
    const deprecated = declared?.deprecated
    if (deprecated !== undefined) warn?.(`Flag --${name} has been deprecated, ${deprecated}`)
  }
  return { ...defaults, ...set } as FlagValues<D>
}

function formatDefault(declared: Flag): string {
  const value: unknown = declared.default
  if (value === undefined || value === '' || value === false) return ''
  if (declared.type === 'duration') return ` (default ${formatDuration(value as number)})`
  if (Array.isArray(value)) return value.length === 0 ? '' : ` (default ${value.join(',')})`
  return ['string', 'number', 'boolean'].includes(typeof value)
    ? ` (default ${value as string | number | boolean})`
    : ''
}

/** The flags' part of --help: one block per flag, in order of declaration. */
export function describeFlags(declarations: FlagDeclarations): string {
  return Object.entries(declarations)
    .filter(([, declared]) => declared.hidden !== true)
    .map(([name, declared]) => {
      const kind =
        declared.type === 'bool' ? '' : ` ${declared.choices?.join('|') ?? declared.type}`
      const { deprecated } = declared
      const note = deprecated === undefined ? '' : ` (DEPRECATED: ${deprecated})`
      return `  --${name}${kind}\n      ${declared.description}${formatDefault(declared)}${note}\n`
    })
    .join('')
}
