/** Fields that several kinds of the group have (upstream: pkg/apis/resource/validation). */
import type {
  DeviceConfiguration,
  DeviceSelector as SelectorField,
} from '../../../api/generated/types.ts'
import type { DeviceSelector } from '../../../cel/device-selector.ts'
import { messageOf } from '../../../component-base/log.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { cIdentifier, label1123, subdomain } from '../../../machinery/validation/names.ts'
import { validateDriverName } from '../storage/csi-node.ts'

const mostSelectors = 32
/** Of the requests, constraints and configurations of a claim, too. */
export const mostEntries = 32
const longestPool = 253
const longestId = 32
const longestExpression = 10 * 1024
/** Bytes of what only drivers read. */
const longestRaw = 10 * 1024
const mostCost = 1_000_000

/** Compiles an expression; undefined where expressions are not looked at: they were when they were stored. */
export type CompileSelector = ((expression: string) => Pick<DeviceSelector, 'mostCost'>) | undefined

/** Checks each entry, then their number. */
export function validateEntries<T>(
  entries: readonly T[],
  { at, most }: { readonly at: FieldPath; readonly most: number },
  check: (entry: T, at: FieldPath) => void,
): void {
  for (const [i, entry] of entries.entries()) check(entry, at.index(i))
  if (entries.length > most) at.tooMany(entries.length, most)
}

/** Reports the keys that stand there before; `field` is where the key stands in an entry. */
export function validateUnique(keys: readonly string[], at: FieldPath, field?: string): void {
  const seen = new Set<string>()
  for (const [i, key] of keys.entries()) {
    const entryAt = at.index(i)
    if (seen.has(key)) (field === undefined ? entryAt : entryAt.child(field)).duplicate(key)
    seen.add(key)
  }
}

export function validateLabelName(name: string, at: FieldPath): void {
  at.invalidEach(name, label1123(name))
}

/** Subdomains, with slashes between them. */
export function validatePoolName(name: string, at: FieldPath): void {
  if (name === '') {
    at.required()
    return
  }
  if (name.length > longestPool) at.tooLong(longestPool)
  for (const part of name.split('/')) at.invalidEach(part, subdomain(part))
}

/** `name` or `domain/name`. */
export function validateQualifiedName(name: string, at: FieldPath): void {
  if (name === '') {
    at.required('name required')
    return
  }
  const [first = '', second, ...more] = name.split('/')
  if (more.length > 0) return
  if (second === undefined) {
    validateIdentifier(first, at)
    return
  }
  if (first === '') at.required('the prefix must not be empty')
  else validateDriverName(first, at)
  if (second === '') at.required('the name must not be empty')
  else validateIdentifier(second, at)
}

function validateIdentifier(id: string, at: FieldPath): void {
  if (id.length > longestId) at.tooLong(longestId)
  at.invalidEach(id, cIdentifier(id))
}

export function validateSelectors(
  selectors: readonly SelectorField[] | undefined,
  at: FieldPath,
  compile: CompileSelector,
): void {
  validateEntries(selectors ?? [], { at, most: mostSelectors }, ({ cel }, selectorAt) => {
    const celAt = selectorAt.child('cel')
    if (cel === undefined) celAt.required()
    else validateExpression(cel.expression ?? '', celAt.child('expression'), compile)
  })
}

function validateExpression(expression: string, at: FieldPath, compile: CompileSelector): void {
  if (Buffer.byteLength(expression) > longestExpression) {
    at.tooLong(longestExpression)
    return
  }
  if (compile === undefined) return
  try {
    if (compile(expression).mostCost > mostCost) at.forbidden('too complex, exceeds cost limit')
  } catch (error) {
    at.invalid(expression, messageOf(error))
  }
}

export function validateConfiguration({ opaque }: DeviceConfiguration, at: FieldPath): void {
  const opaqueAt = at.child('opaque')
  if (opaque === undefined) {
    opaqueAt.required()
    return
  }
  validateDriverName(opaque.driver, opaqueAt.child('driver'))
  const parametersAt = opaqueAt.child('parameters')
  if (opaque.parameters === undefined) parametersAt.required()
  else validateRawObject(opaque.parameters, parametersAt)
}

/** JSON that only drivers read. */
export function validateRawObject(raw: unknown, at: FieldPath): void {
  if (raw === null) at.required()
  else if (Buffer.byteLength(JSON.stringify(raw)) > longestRaw) at.tooLong(longestRaw)
  else if (typeof raw !== 'object' || Array.isArray(raw)) {
    at.invalid('<value omitted>', 'parameters must be a valid JSON object')
  }
}
