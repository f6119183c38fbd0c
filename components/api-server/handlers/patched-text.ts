/**
 * patched-text: a patched object as upstream's library prints it: sorted fields in every object that the patch went through,
 * and the original order elsewhere.
 */
import { goJson } from '../../machinery/values/go-json.ts'

/** The parts of a document that a patch went through: the whole document, or some of its fields. */
export type Touched = 'whole' | ReadonlyMap<string, Touched>

/** The objects of a merge patch. A list replaces a list as a whole. */
export function touchedByMerge(patch: unknown): Touched {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return 'whole'
  return new Map(Object.entries(patch).map(([name, value]) => [name, touchedByMerge(value)]))
}

type Branch = Map<string, Branch>

/** The containers along the paths of a JSON patch. */
export function touchedByOperations(
  operations: readonly (Readonly<Record<string, unknown>> | null)[],
): Touched {
  const root: Branch = new Map()
  for (const operation of operations) {
    for (const path of [operation?.['path'], operation?.['from']]) {
      if (typeof path !== 'string') continue
      let branch = root
      for (const part of path.split('/').slice(1, -1)) {
        const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
        const next: Branch = branch.get(name) ?? new Map()
        branch.set(name, next)
        branch = next
      }
    }
  }
  return root
}

/** JSON with Go's escapes. */
export function patchedText(value: unknown, touched: Touched): string {
  return goJson(sorted(value, touched))
}

function sorted(value: unknown, touched: Touched | undefined): unknown {
  if (touched === undefined || typeof value !== 'object' || value === null) return value
  const inner = (name: string) => (touched === 'whole' ? touched : touched.get(name))
  if (Array.isArray(value)) return value.map((item, index) => sorted(item, inner(String(index))))
  const fields = value as Readonly<Record<string, unknown>>
  const names = Object.keys(fields).toSorted()
  return Object.fromEntries(names.map((name) => [name, sorted(fields[name], inner(name))]))
}
