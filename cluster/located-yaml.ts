/** Located YAML: values with their line numbers, for files whose mistakes are told with file and line. */
import { constructFromEvents, getScalarValue, parseEvents, YAMLException } from 'js-yaml'
import type { Event } from 'js-yaml'
import type { Path } from './path.ts'

export interface LocatedDocument {
  readonly value: unknown
  /** The line (from 1) of the value at that path, or of its nearest parent. */
  lineOf(path: Path): number
}

/** Invalid YAML: a message of one line, and the line of the error. */
export class YamlError extends Error {
  readonly line: number
  constructor(message: string, line: number, cause: unknown) {
    super(message, { cause })
    this.name = 'YamlError'
    this.line = line
  }
}

/** js-yaml's event kinds, which it exports as numbers only. */
const kind = { document: 1, sequence: 2, mapping: 3, scalar: 4, alias: 5, pop: 6 } as const

const keyOf = (path: Path): string => JSON.stringify(path)

/** Walks the events of one document, from the one at `index` on, and notes the offset of the value at each path. */
function offsetsByPath(
  events: readonly Event[],
  { index, text }: { index: number; readonly text: string },
): Map<string, number> {
  const offsets = new Map<string, number>()
  const skip = (): void => {
    let depth = 0
    do {
      const event = events[index]
      index += 1
      if (event?.type === kind.sequence || event?.type === kind.mapping) depth += 1
      if (event?.type === kind.pop) depth -= 1
    } while (depth > 0)
  }
  const walk = (path: Path): void => {
    const event = events[index]
    index += 1
    if (event === undefined) return
    offsets.set(keyOf(path), offsetOf(event))
    if (event.type === kind.sequence) {
      for (let item = 0; events[index]?.type !== kind.pop; item += 1) walk([...path, item])
      index += 1
    }
    if (event.type === kind.mapping) {
      while (events[index]?.type !== kind.pop) {
        const key = events[index]
        if (key?.type !== kind.scalar) {
          skip()
          skip()
          continue
        }
        index += 1
        const child = [...path, getScalarValue(text, key)]
        walk(child)
        // Messages about a field refer to the line of its name.
        offsets.set(keyOf(child), key.valueStart)
      }
      index += 1
    }
  }
  walk([])
  return offsets
}

/** Where a value begins; -1 for an empty one. */
function offsetOf(event: Event | undefined): number {
  if (event?.type === kind.scalar) return event.valueStart
  return event?.type === kind.sequence || event?.type === kind.mapping ? event.start : -1
}

/** The line (from 1) of an offset. */
function lineFinder(text: string): (offset: number) => number {
  const ends: number[] = []
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) ends.push(at)
  return (offset) => {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? 0) < offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }
}

/** Parses all documents. Throws a YamlError. */
export function parseLocatedDocuments(text: string): LocatedDocument[] {
  try {
    const events = parseEvents(text, {})
    const values = constructFromEvents(events, { source: text, maxAliases: 100 })
    const starts = events.flatMap(({ type }, index) => (type === kind.document ? [index + 1] : []))
    const lineAt = lineFinder(text)
    return values.map((value, number) => {
      const index = starts[number] ?? events.length
      let offsets: Map<string, number> | undefined
      return {
        value,
        lineOf: (path) => {
          // Most readers ask for the document's first line alone.
          offsets ??= path.length === 0 ? undefined : offsetsByPath(events, { index, text })
          if (offsets === undefined) return lineAt(Math.max(0, offsetOf(events[index])))
          for (let length = path.length; length >= 0; length -= 1) {
            const offset = offsets.get(keyOf(path.slice(0, length))) ?? -1
            if (offset >= 0) return lineAt(offset)
          }
          return 1
        },
      }
    })
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    throw new YamlError(error.reason ?? error.message, (error.mark?.line ?? 0) + 1, error)
  }
}

/** Parses one document; without any its value is undefined. Throws a YamlError. */
export function parseLocated(text: string): LocatedDocument {
  const documents = parseLocatedDocuments(text)
  if (documents.length > 1) throw new YamlError('more than one document in one file', 1, undefined)
  return documents[0] ?? { value: undefined, lineOf: () => 1 }
}
