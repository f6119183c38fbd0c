/** All functions that expressions have beyond the language's own. */
import type { CelFunc } from '@bufbuild/cel'
import { authorizerLibrary } from './cel-authorizer.ts'
import { formatLibrary } from './cel-formats.ts'
import { celLibrary } from './cel-functions.ts'
import type { Overload } from './cel-library.ts'
import { optionalLibrary } from './cel-optional.ts'

const libraries = [celLibrary, optionalLibrary, formatLibrary, authorizerLibrary]

/** For the evaluator. */
export const extensionFunctions: readonly CelFunc[] = libraries.flatMap(
  ({ functions }) => functions,
)

/** For the checker: the same functions. */
export const extensionOverloads: readonly Overload[] = libraries.flatMap(
  ({ overloads }) => overloads,
)
