/** JSON forms: the stored bytes as they are, values of any view, and both indented for people. */
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Form, ListMeta, Shown } from './form.ts'
import type { WatchEventType } from '../watch-cache/watcher.ts'
import { listMetaOf, objectView, type View } from './view.ts'

const mediaType = 'application/json'
const nothing = Buffer.alloc(0)
const closeBrace = Buffer.from('}')
const betweenItems = Buffer.from('},{')
const openBrace = Buffer.from('{')
const commaAndBrace = Buffer.from(',{')
const comma = Buffer.from(',')
const frameEnd = Buffer.from('}\n')
const tail = Buffer.from(']}\n')
const frameHeads: Record<WatchEventType, Buffer> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
}

function jsonLine(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}

/** `{"kind":"PodList","apiVersion":"v1","metadata":{...},"items":[` */
function headOf(view: View, meta: ListMeta): Buffer {
  const { listKind: kind, apiVersion, listFields, itemsName } = view
  const head = JSON.stringify({ kind, apiVersion, metadata: listMetaOf(meta), ...listFields })
  return Buffer.from(`${head.slice(0, -1)},"${itemsName}":[`)
}

function frameOf(type: WatchEventType, body: Buffer): Buffer {
  return Buffer.concat([frameHeads[type], body.subarray(0, body.length - 1), frameEnd])
}

/** Values of any view, one line each. */
export function jsonForm(view: View): Form {
  const { watched } = view
  return {
    name: view.name,
    mediaType,
    streamType: mediaType,
    framePrefix: 0,
    one: (shown) => jsonLine(view.object(shown)),
    *list(meta, items) {
      yield headOf(view, meta)
      let separator = nothing
      for (const shown of items) {
        yield separator
        yield Buffer.from(JSON.stringify(view.item(shown)))
        separator = comma
      }
      yield tail
    },
    frame: (type, shown) => frameOf(type, jsonLine((watched ?? view.object)(shown))),
    ...(watched === undefined
      ? {}
      : { firstFrame: (type, shown: Shown) => frameOf(type, jsonLine(view.object(shown))) }),
    bookmark: (resourceVersion, annotations) =>
      jsonLine({ type: 'BOOKMARK', object: view.bookmark(resourceVersion, annotations) }),
    error: (status) => jsonLine({ type: 'ERROR', object: status }),
  }
}

/** Where the fields after kind and apiVersion begin in the stored bytes of a built-in kind. */
function fieldsStart({ kind, storageVersion }: Resource): number {
  return Buffer.byteLength(`{"kind":"${kind}","apiVersion":"${storageVersion.apiVersion}",`)
}

/** A view of the metadata alone, of a kind in its stored version: copied from the stored bytes. */
export function metadataForm(view: View, resource: Resource): Form {
  const start = fieldsStart(resource)
  const { kind, apiVersion } = view
  const head = Buffer.from(`{"kind":"${kind}","apiVersion":"${apiVersion}",`)
  const end = Buffer.from('}\n')
  const plain = jsonForm(view)
  const one = (shown: Shown): Buffer => {
    const metadata = shown.metadataFrom?.(start)
    return metadata === undefined
      ? jsonLine(view.object(shown))
      : Buffer.concat([head, metadata, end])
  }
  return {
    ...plain,
    one,
    *list(meta, items) {
      yield headOf(view, meta)
      let separator = openBrace
      for (const shown of items) {
        const metadata = shown.metadataFrom?.(start)
        yield separator
        yield metadata ?? Buffer.from(JSON.stringify(view.item(shown)).slice(1, -1))
        separator = betweenItems
      }
      if (items.length > 0) yield closeBrace
      yield tail
    },
    frame: (type, shown) => frameOf(type, one(shown)),
  }
}

/** The plain form of the stored version: the stored bytes themselves. Lists leave out their items' first two fields. */
export function storedForm(resource: Resource): Form {
  const skip = fieldsStart(resource)
  const view = objectView(resource)
  return {
    ...jsonForm(view),
    name: 'stored',
    one: (shown) => shown.bytes,
    *list(meta, items) {
      yield headOf(view, meta)
      let start = openBrace
      for (const { bytes } of items) {
        yield start
        yield bytes.subarray(skip, bytes.length - 1)
        start = commaAndBrace
      }
      yield tail
    },
    copiedList: (meta) => {
      let isFirst = true
      return {
        head: headOf(view, meta),
        tail,
        mostAround: 2,
        copyNext: (item, target, offset) => {
          let at = offset
          if (!isFirst) target[at++] = 0x2c
          isFirst = false
          target[at++] = 0x7b
          return item.copyTo(target, at, skip)
        },
      }
    },
    frame: (type, shown) => frameOf(type, shown.bytes),
  }
}

/**
 * The same of a custom kind. Its objects are read by the schema of today, which nearly always finds them as they are stored: once
 * that is known of an entry, its bytes are sent.
 */
export function customForm(resource: Resource): Form {
  const view = objectView(resource)
  const asStored = new WeakSet<Shown>()
  const bytesOf = (shown: Shown): Buffer => {
    if (asStored.has(shown)) return shown.bytes
    const read = jsonLine(view.object(shown))
    if (!read.equals(shown.bytes)) return read
    asStored.add(shown)
    return shown.bytes
  }
  return {
    ...jsonForm(view),
    one: bytesOf,
    *list(meta, items) {
      yield headOf(view, meta)
      let separator = nothing
      for (const shown of items) {
        const bytes = bytesOf(shown)
        yield separator
        yield bytes.subarray(0, bytes.length - 1)
        separator = comma
      }
      yield tail
    },
    frame: (type, shown) => frameOf(type, bytesOf(shown)),
  }
}

function indented(value: unknown, by = ''): string {
  const text = JSON.stringify(value, null, 2)
  return by === '' ? text : text.replaceAll('\n', `\n${by}`)
}

/** Answers indented for people; frames stay on one line. */
export function prettyForm(view: View): Form {
  return {
    ...jsonForm(view),
    one: (shown) => Buffer.from(`${indented(view.object(shown))}\n`),
    *list(meta, items) {
      const { listKind: kind, apiVersion, listFields, itemsName } = view
      const head = indented({ kind, apiVersion, metadata: listMetaOf(meta), ...listFields })
      yield Buffer.from(`${head.slice(0, -2)},\n  "${itemsName}": [`)
      let separator = ''
      for (const shown of items) {
        yield Buffer.from(`${separator}\n    ${indented(view.item(shown), '    ')}`)
        separator = ','
      }
      yield Buffer.from(items.length === 0 ? ']\n}\n' : '\n  ]\n}\n')
    },
  }
}
