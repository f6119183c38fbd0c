/** Object history: the events of a watch, as changes from one state to the next. */
import type { WatchEvent } from '../../components/client/resource-client.ts'
import { brief, differences, pathText } from '../../components/machinery/objects/differences.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

/** Fields that change with every write. */
const noise = /^metadata\.(resourceVersion|managedFields)/
const mostLines = 40
const mostDifferences = 8

export interface ObjectHistory {
  /** A listed state: at the start, and after a lost connection. */
  listed(objects: Iterable<KubeObject>): void
  seen(event: WatchEvent): void
  trouble(error: Error): void
  /** One line per change, each with the time since the start. */
  lines(): string[]
}

export function createObjectHistory(now: () => number): ObjectHistory {
  const startedMs = now()
  const last = new Map<string, KubeObject>()
  const lines: string[] = []
  const add = (text: string): void => {
    lines.push(`+${((now() - startedMs) / 1000).toFixed(1)} s  ${text}`)
  }
  const changed = (key: string, before: KubeObject, after: KubeObject): void => {
    const found = differences(before, after)
      .map((one) => ({ ...one, path: pathText(one.path) }))
      .filter(({ path }) => !noise.test(path))
    const shown = found
      .slice(0, mostDifferences)
      .map((one) => `${one.path}: ${brief(one.before, 60)} -> ${brief(one.after, 60)}`)
    if (found.length > shown.length) shown.push(`and ${found.length - shown.length} more`)
    if (shown.length > 0) add(`${key} changed: ${shown.join('; ')}`)
  }
  return {
    listed: (objects) => {
      const before = new Map(last)
      last.clear()
      for (const object of objects) {
        const key = keyOf(object)
        last.set(key, object)
        const old = before.get(key)
        if (old !== undefined) changed(key, old, object)
        else add(`${key} was there`)
      }
      for (const key of before.keys()) if (!last.has(key)) add(`${key} was gone`)
    },
    seen: ({ type, object }) => {
      const key = keyOf(object)
      const before = last.get(key)
      if (type === 'DELETED') {
        last.delete(key)
        add(`${key} deleted`)
        return
      }
      last.set(key, object)
      if (before === undefined) add(`${key} added`)
      else changed(key, before, object)
    },
    trouble: (error) => add(`the server was lost: ${error.message}`),
    lines: () =>
      lines.length <= mostLines
        ? [...lines]
        : [
            ...lines.slice(0, 10),
            `... ${lines.length - mostLines} changes left out ...`,
            ...lines.slice(10 - mostLines),
          ],
  }
}
