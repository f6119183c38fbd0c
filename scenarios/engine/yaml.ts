/** YAML of scenario files: values with their line numbers. The only file of the engine that imports a YAML package. */
import { constructFromEvents, getScalarValue, parseEvents, YAMLException } from 'js-yaml'
import type { Event } from 'js-yaml'

export type Path = readonly (string | number)[]

export interface LocatedDocument {
  readonly value: unknown
  /** The line (from 1) of the value at that path, or of its nearest parent. */
  lineOf(path: Path): number
}

/** `steps[2].expect.within` */
export function pathText(path: Path): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`,
    )
    .join('')
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

/** Walks the events of one document and notes the offset of the value at each path. */
function offsetsByPath(events: readonly Event[], text: string): Map<string, number> {
  const offsets = new Map<string, number>()
  let index = 0
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
    if (event.type === kind.scalar) offsets.set(keyOf(path), event.valueStart)
    if (event.type === kind.sequence) {
      offsets.set(keyOf(path), event.start)
      for (let item = 0; events[index]?.type !== kind.pop; item += 1) walk([...path, item])
      index += 1
    }
    if (event.type === kind.mapping) {
      offsets.set(keyOf(path), event.start)
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
  while (index < events.length && events[index]?.type !== kind.document) index += 1
  index += 1
  walk([])
  return offsets
}

/** Parses one document. Throws a YamlError. */
export function parseLocated(text: string): LocatedDocument {
  try {
    const events = parseEvents(text, {})
    const documents = constructFromEvents(events, { source: text, maxAliases: 100 })
    if (documents.length > 1)
      throw new YamlError('more than one document in one file', 1, undefined)
    const offsets = offsetsByPath(events, text)
    return {
      value: documents[0],
      lineOf: (path) => {
        for (let length = path.length; length >= 0; length -= 1) {
          const offset = offsets.get(keyOf(path.slice(0, length)))
          if (offset !== undefined) return text.slice(0, offset).split('\n').length
        }
        return 1
      },
    }
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    throw new YamlError(error.reason ?? error.message, (error.mark?.line ?? 0) + 1, error)
  }
}
