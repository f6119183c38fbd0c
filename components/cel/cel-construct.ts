/**
 * What expressions of mutations construct, at run time (upstream: apiserver/pkg/cel/mutation, dynamic/objects.go and jsonpatch.go;
 * cel/library/jsonpatch.go): a map of the fields, with the name of their type.
 */
import type { CelMap } from '@bufbuild/cel'
import {
  constructFunction,
  escapeKeyFunction,
  jsonPatchType,
  typeKey,
} from './cel-construct-types.ts'
import { createLibrary, type Library } from './cel-library.ts'
import { dyn, mapOf, string } from './cel-types.ts'

const { define, library } = createLibrary()

const goTypes: Readonly<Record<string, string>> = {
  bigint: 'int64',
  number: 'float64',
  boolean: 'bool',
}

/** The checker leaves open what is only known at run time. */
function checkPatchTexts(fields: CelMap): void {
  for (const name of ['op', 'path', 'from']) {
    const value: unknown = fields.get(name)
    if (value === undefined || typeof value === 'string') continue
    const found = goTypes[typeof value] ?? typeof value
    throw new Error(`unexpected type ${found} for JSONPatchType '${name}' field`)
  }
}

define(constructFunction, [[string, mapOf(string, dyn)], dyn], (name: string, fields: CelMap) => {
  if (name === jsonPatchType.name) checkPatchTexts(fields)
  return new Map<unknown, unknown>([[typeKey, name], ...fields])
})
define(escapeKeyFunction, [[string], string], (key: string) =>
  key.replaceAll('~', '~0').replaceAll('/', '~1'),
)

/** These functions. */
export const constructLibrary: Library = library
