/** Saved variables: values that a check takes from what it found. */
import { parsePath, valuesAt } from '../../scenarios/engine/where.ts'

export type SavedPaths = Readonly<Record<string, string>> | undefined

/** The variables; the name of the first one whose path leads to nothing is `missing`. */
export function savedFrom(
  found: unknown,
  paths: SavedPaths = {},
): { readonly saved: Record<string, unknown>; readonly missing: string | undefined } {
  const saved: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(paths)) {
    const [value] = valuesAt(found, parsePath(path))
    if (value === undefined) return { saved: {}, missing: path }
    saved[name] = value
  }
  return { saved, missing: undefined }
}
