/**
 * CBOR in and out: the only file that imports the package. Written as upstream writes it: texts as byte strings, bytes under the
 * tag that says base64, definite lengths. Read strictly: no repeated keys, no numbers JSON does not have, a bounded depth.
 */
import { decode, encode, objectToTokens, Token, Tokenizer, Type } from 'cborg'
import type { DecodeOptions, TokenOrNestedTokens } from 'cborg/interface'
import type { Schema } from '../../machinery/schema/schema.ts'
import { ValueBudget } from '../../machinery/values/value-limit.ts'

/** Tag 55799: says of what follows that it is CBOR. It stands before every body. */
const selfDescribed = Buffer.from([0xd9, 0xd9, 0xf7])

/** As upstream's reader. */
const deepest = 64

const laterBase64 = 22

function textToken(text: string): Token {
  return new Token(Type.bytes, Buffer.from(text))
}

function mapTokens(
  value: object,
  schemaOf: (name: string) => Schema | undefined,
): TokenOrNestedTokens {
  const entries = Object.entries(value).filter(([, child]) => child !== undefined)
  return [
    new Token(Type.map, entries.length),
    ...entries.map(([name, child]) => [textToken(name), tokensOf(child, schemaOf(name))]),
  ]
}

/** Of structs with two forms the one that is an object is a message of the kind in this field. */
const schemaField = 'Schema'

/** A schema tells bytes from texts and fractions from whole numbers; values without a schema are written as in JSON. */
function tokensOf(value: unknown, schema: Schema | undefined): TokenOrNestedTokens {
  if (typeof value === 'string') {
    if (schema?.kind !== 'bytes') return textToken(value)
    return [new Token(Type.tag, laterBase64), new Token(Type.bytes, Buffer.from(value, 'base64'))]
  }
  if (typeof value === 'number' && schema?.kind === 'double') return new Token(Type.float, value)
  if (Array.isArray(value)) {
    const items = schema?.kind === 'list' ? schema.items : undefined
    return [new Token(Type.array, value.length), value.map((item) => tokensOf(item, items))]
  }
  if (typeof value !== 'object' || value === null) return objectToTokens(value)
  if (schema?.kind === 'map') return mapTokens(value, () => schema.values)
  if (schema?.kind !== 'struct') return mapTokens(value, () => undefined)
  if (schema.union !== undefined) return tokensOf(value, schema.fields.get(schemaField)?.schema)
  return mapTokens(value, (name) => schema.fields.get(name)?.schema)
}

function encodeTokens(tokens: TokenOrNestedTokens): Buffer {
  const bytes = encode({}, { typeEncoders: { Object: () => tokens } })
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** One item, without the tag in front. */
export function writeCbor(value: unknown, schema: Schema | undefined): Buffer {
  return encodeTokens(tokensOf(value, schema))
}

/** A whole body. */
export function cborBody(value: unknown, schema: Schema | undefined): Buffer {
  return Buffer.concat([selfDescribed, writeCbor(value, schema)])
}

/** The start of a body that is a map: all its fields but the last, whose value follows. */
export function cborHead(fields: Readonly<Record<string, unknown>>, last: string): Buffer {
  const tokens = Object.entries(fields).map(([name, child]) => [
    textToken(name),
    tokensOf(child, undefined),
  ])
  const map = new Token(Type.map, tokens.length + 1)
  return Buffer.concat([selfDescribed, encodeTokens([map, tokens, textToken(last)])])
}

/** The start of a list of that length, whose items follow. */
export function cborListHead(length: number): Buffer {
  return encodeTokens(new Token(Type.array, length))
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A map, array or tag whose items are being read; keys and values of a map are items. */
interface Container {
  lacks: number
  has: number
  readonly isMap: boolean
}

/** Byte strings are texts, unless the tag before them says otherwise; counts values, and how deep containers nest. */
class TextTokenizer extends Tokenizer {
  readonly #open: Container[] = []
  readonly #budget: ValueBudget
  #isRaw = false

  /** Keys are values here. */
  constructor(bytes: Buffer, mostValues: number) {
    super(bytes, options)
    this.#budget = new ValueBudget(mostValues * 2)
  }

  override next(): Token {
    this.#budget.spend()
    const token = super.next()
    const { type } = token
    const isRaw = this.#isRaw
    this.#isRaw = type === Type.tag && token.value === laterBase64
    if (type === Type.map || type === Type.array || type === Type.tag) this.#enter(token)
    else if (type === Type.break) this.#leave()
    else this.#complete()
    if (type === Type.bytes && !isRaw) return textOf(token, token.value as Uint8Array)
    if (type === Type.string) return textOf(token, token.byteValue ?? new Uint8Array())
    return token
  }

  #enter({ type, value }: Token): void {
    const items = type === Type.tag ? 1 : type === Type.map ? Number(value) * 2 : Number(value)
    if (items === 0) {
      this.#complete()
      return
    }
    this.#open.push({ lacks: items, isMap: type === Type.map, has: 0 })
    if (this.#open.length > deepest) throw new Error(`exceeded max nested level ${deepest}`)
  }

  #leave(): void {
    const closed = this.#open.pop()
    // The decoder would take the break for the value of a key.
    if (closed === undefined || closed.lacks !== Infinity || (closed.isMap && closed.has % 2 > 0)) {
      throw new Error('unexpected "break" code')
    }
    this.#complete()
  }

  #complete(): void {
    for (let inner = this.#open.at(-1); inner !== undefined; inner = this.#open.at(-1)) {
      inner.lacks -= 1
      inner.has += 1
      if (inner.lacks > 0) return
      this.#open.pop()
    }
  }
}

function textOf(token: Token, bytes: Uint8Array): Token {
  return new Token(Type.string, utf8.decode(bytes), token.encodedLength)
}

type Tags = NonNullable<DecodeOptions['tags']>

function refused(what: string): Tags[number] {
  return () => {
    throw new Error(`${what} are not supported`)
  }
}

const knownTags: Tags = {
  1: refused('times as numbers'),
  2: refused('integers of any size'),
  3: refused('integers of any size'),
  [laterBase64]: (content) => {
    const value = content()
    return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
  },
}

/** Tags without a meaning here are looked through. */
const tags = new Proxy(knownTags, {
  get: (known, name: string) => known[Number(name)] ?? ((content: () => unknown) => content()),
})

const options: DecodeOptions = {
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  allowBigInt: false,
  rejectDuplicateMapKeys: true,
  retainStringBytes: true,
  tags,
}

/** One item as a JSON value. Throws an Error that says what is wrong with it, and TooManyValuesError. */
export function readCbor(bytes: Buffer, mostValues = Infinity): unknown {
  return decode(bytes, { ...options, tokenizer: new TextTokenizer(bytes, mostValues) })
}
