/** Checked file: a YAML file as the value of its shape, or its faults, each with file, line and path. */
import { readFileSync } from 'node:fs'
import { messageOf } from '../../components/component-base/log.ts'
import { deferredIn } from '../../cluster/shape.ts'
import type { Issue, Shape } from '../../cluster/shape.ts'
import { pathText } from '../../cluster/path.ts'
import type { Path } from '../../cluster/path.ts'
import { parseLocated, YamlError } from '../../cluster/located-yaml.ts'

export type CheckedFile<T> =
  | {
      readonly value: T
      readonly faults: readonly []
      readonly cause?: undefined
      /** A fault at that path, with file and line. */
      readonly faultAt: (issue: Issue) => string
      /** File and line of what is at that path. */
      readonly placeOf: (path: Path) => string
    }
  | {
      readonly value?: undefined
      readonly faults: readonly string[]
      readonly cause?: unknown
      readonly faultAt?: undefined
      readonly placeOf?: undefined
    }

export interface FileText {
  readonly text: string
  /** For the faults. */
  readonly file: string
  /** Fields whose values may contain variables. */
  readonly variablesIn: readonly string[]
}

export function checkFile<T extends object>(
  shape: Shape<T>,
  { text, file, variablesIn }: FileText,
): CheckedFile<T> {
  let document
  try {
    document = parseLocated(text)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    return { faults: [`${file}:${error.line}: ${error.message}`], cause: error }
  }
  const issues: Issue[] = []
  const value = shape.check(document.value, [], issues)
  const settings = Object.entries(value).filter(([name]) => !variablesIn.includes(name))
  for (const { path, text } of issues.length > 0 ? [] : deferredIn(Object.fromEntries(settings))) {
    issues.push({ path, message: `${text} is unknown here: only steps can use variables` })
  }
  const placeOf = (path: Path): string => `${file}:${document.lineOf(path)}`
  const faultAt = ({ path, message }: Issue): string => {
    const where = path.length === 0 ? '' : ` ${pathText(path)}:`
    return `${placeOf(path)}:${where} ${message}`
  }
  if (issues.length === 0) return { value, faults: [], faultAt, placeOf }
  return { faults: issues.map(faultAt) }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
}

type ReadText =
  | { readonly text: string; readonly fault?: undefined; readonly cause?: undefined }
  | { readonly text?: undefined; readonly fault: string; readonly cause: unknown }

export function readText(file: string): ReadText {
  try {
    return { text: readFileSync(file, 'utf8') }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { fault: `${file}: ${unreadable[code ?? ''] ?? messageOf(error)}`, cause: error }
  }
}
