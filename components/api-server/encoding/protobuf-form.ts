/** Protobuf form: messages in upstream's envelope, lists put together from their items' messages, watches in frames with a length. */
import { setImmediate } from 'node:timers/promises'
import { schemaOf } from '../../api/schemas.ts'
import {
  protobufFieldLength as fieldLength,
  protobufHead,
  protobufWrapper,
  writeProtobuf,
} from '../../machinery/protobuf/protobuf-writer.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import type { Form, ListMeta, Shown } from './form.ts'
import type { WatchEventType } from '../watch-cache/watcher.ts'
import { Encodings } from './encodings.ts'
import { listMetaOf, type View } from './view.ts'

/** Numbers in every list's message. */
const metadataNumber = 1
const itemsNumber = 2

/** Before every frame. */
const lengthBytes = 4

/** Encoding a long list to learn its length lets others run after this many items. */
const itemsAtOnce = 200

/** A list holds on to this much of what it encoded to learn its length; the rest is encoded a second time. */
const mostHeldBytes = 32 * 1024 * 1024

/** Lists longer than this do not push out what others use. */
const longestKept = 20_000

/** Items are joined to pieces of this size: each costs its reader a turn. */
const pieceBytes = 64 * 1024

const encodings = new Encodings()

interface Typed {
  readonly apiVersion: string
  readonly kind: string
}

/** Writes whole bodies: magic bytes and envelope around a value's message. */
export function protobufBodies(
  schema: StructSchema,
  { apiVersion, kind }: Typed,
): (value: object) => Buffer {
  const { head, tail } = protobufWrapper(apiVersion, kind)
  return (value) => {
    const message = writeProtobuf(schema, value)
    return Buffer.concat([head(message.length), message, tail])
  }
}

/** One such body. */
export function protobufBody(schema: StructSchema, value: object, typed: Typed): Buffer {
  return protobufBodies(schema, typed)(value)
}

/** A watch event: not in an envelope itself, but its object is; four bytes before it tell its length. */
function frameOf(type: string, body: Buffer): Buffer {
  const text = Buffer.from(type)
  const raw = protobufHead(1, body.length)
  const object = protobufHead(2, raw.length + body.length)
  const head = Buffer.concat([protobufHead(1, text.length), text, object, raw])
  const length = Buffer.allocUnsafe(lengthBytes)
  length.writeUInt32BE(head.length + body.length)
  return Buffer.concat([length, head, body])
}

/** Messages of single objects in one view, kept for the next reader. */
interface Messages {
  readonly ofList: ReturnType<typeof protobufWrapper>
  messageOf(shown: Shown, keeps: boolean): Buffer
}

/** What the messages of a list take together, and those that it holds on to. */
async function measured(
  items: readonly Shown[],
  messages: Messages,
): Promise<{ length: number; held: readonly Buffer[] }> {
  const keeps = items.length <= longestKept
  const held: Buffer[] = []
  let heldBytes = 0
  let length = 0
  for (const [index, shown] of items.entries()) {
    const message = messages.messageOf(shown, keeps)
    length += fieldLength(itemsNumber, message.length)
    if (heldBytes < mostHeldBytes) {
      held.push(message)
      heldBytes += message.length
    }
    if (index % itemsAtOnce === itemsAtOnce - 1) await setImmediate()
  }
  return { length, held }
}

async function* listOf(
  meta: ListMeta,
  items: readonly Shown[],
  messages: Messages,
): AsyncIterable<Buffer> {
  const { ofList, messageOf } = messages
  const metadata = writeProtobuf(schemaOf('meta/v1.ListMeta'), listMetaOf(meta))
  const { length, held } = await measured(items, messages)
  const head = ofList.head(fieldLength(metadataNumber, metadata.length) + length)
  let pieces = [head, protobufHead(metadataNumber, metadata.length), metadata]
  let bytes = 0
  for (const [index, shown] of items.entries()) {
    const message = held[index] ?? messageOf(shown, false)
    pieces.push(protobufHead(itemsNumber, message.length), message)
    bytes += message.length
    if (bytes < pieceBytes) continue
    yield Buffer.concat(pieces)
    pieces = []
    bytes = 0
  }
  yield Buffer.concat([...pieces, ofList.tail])
}

/** `mediaType` is the dialect's. */
export function protobufForm(view: View, schema: StructSchema, mediaType: string): Form {
  const { kind, listKind, apiVersion } = view
  const ofOne = protobufWrapper(apiVersion, kind)
  const name = `protobuf ${view.name}`
  const messageOf = (shown: Shown, keeps: boolean): Buffer => {
    const known = encodings.find(shown, name)
    if (known !== undefined) return known
    const made = writeProtobuf(schema, view.object(shown))
    if (keeps) encodings.keep(shown, name, made)
    return made
  }
  const messages = { ofList: protobufWrapper(apiVersion, listKind), messageOf }
  const bodyOf = (message: Buffer): Buffer =>
    Buffer.concat([ofOne.head(message.length), message, ofOne.tail])
  const one = (shown: Shown): Buffer => bodyOf(messageOf(shown, true))
  return {
    name,
    mediaType,
    streamType: `${mediaType};stream=watch`,
    framePrefix: lengthBytes,
    one,
    list: (meta, items) => listOf(meta, items, messages),
    frame: (type: WatchEventType, shown) => frameOf(type, one(shown)),
    bookmark: (resourceVersion, annotations) =>
      frameOf(
        'BOOKMARK',
        bodyOf(writeProtobuf(schema, view.bookmark(resourceVersion, annotations))),
      ),
    error: (status) =>
      frameOf(
        'ERROR',
        protobufBody(schemaOf('meta/v1.Status'), status, { apiVersion: 'v1', kind: 'Status' }),
      ),
  }
}
