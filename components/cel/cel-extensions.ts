/** All functions that expressions have beyond the language's own. */
import type { CelFunc } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { authorizerLibrary } from './cel-authorizer.ts'
import { constructLibrary } from './cel-construct.ts'
import { formatLibrary } from './cel-formats.ts'
import { celLibrary } from './cel-functions.ts'
import type { Overload } from './cel-library.ts'
import { Meter, meteredFunctions } from './cel-meter.ts'
import { meteredLibrary } from './cel-metered-functions.ts'
import { optionalLibrary } from './cel-optional.ts'
import { semverLibrary } from './cel-semver.ts'

/** The language's functions of texts, except one whose time grows with the square of the text: ours replaces it. */
export const stringFunctions: readonly CelFunc[] = strings.filter(({ name }) => name !== 'replace')

const libraries = [
  celLibrary,
  optionalLibrary,
  formatLibrary,
  authorizerLibrary,
  semverLibrary,
  constructLibrary,
]
const unmetered: readonly CelFunc[] = libraries.flatMap(({ functions }) => functions)

/** For the evaluator of one program, whose meter they charge. */
export function extensionFunctions(meter: Meter): readonly CelFunc[] {
  return [
    ...stringFunctions,
    ...unmetered,
    ...meteredLibrary(meter).functions,
    ...meteredFunctions(meter),
  ]
}

/** For the checker: the same functions. */
export const extensionOverloads: readonly Overload[] = [
  ...libraries.flatMap(({ overloads }) => overloads),
  ...meteredLibrary(new Meter()).overloads,
]
