/** All functions that expressions have beyond the language's own. */
import type { CelFunc } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { authorizerLibrary } from './cel-authorizer.ts'
import { formatLibrary } from './cel-formats.ts'
import { celLibrary } from './cel-functions.ts'
import type { Overload } from './cel-library.ts'
import { optionalLibrary } from './cel-optional.ts'

/** The language's functions of texts, but for one whose time grows with the square of the text: ours stands in for it. */
export const stringFunctions: readonly CelFunc[] = strings.filter(({ name }) => name !== 'replace')

const libraries = [celLibrary, optionalLibrary, formatLibrary, authorizerLibrary]

/** For the evaluator. */
export const extensionFunctions: readonly CelFunc[] = libraries.flatMap(
  ({ functions }) => functions,
)

/** For the checker: the same functions. */
export const extensionOverloads: readonly Overload[] = libraries.flatMap(
  ({ overloads }) => overloads,
)
