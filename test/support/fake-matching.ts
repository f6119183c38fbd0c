/** Selectors and patches of the in-memory cluster: as far as controllers use them. */
import { isDeepStrictEqual } from 'node:util'
import type { ListOptions } from '../../components/client/resource-client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import { copyJson } from '../../components/machinery/values/json-copy.ts'

function fieldOf(object: KubeObject, path: string): string {
  let value: unknown = object
  for (const part of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[part]
  return value === undefined || value === null ? '' : String(value as string | number | boolean)
}

/** `a=b`, `a!=b`, `a`, `!a`, joined by commas: what controllers use. */
export function matches(object: KubeObject, options: ListOptions): boolean {
  const { namespace, fieldSelector = '', labelSelector = '' } = options
  if (namespace !== undefined && namespace !== '' && object.metadata.namespace !== namespace)
    return false
  const labels = object.metadata.labels ?? {}
  const test = (part: string, value: (name: string) => string | undefined): boolean => {
    const [, name = '', operator = '', wanted = ''] = /^([^!=]+)(!=|==?)(.*)$/.exec(part) ?? []
    if (operator === '')
      return part.startsWith('!') ? value(part.slice(1)) === undefined : value(part) !== undefined
    return (value(name) === wanted) === (operator !== '!=')
  }
  return (
    fieldSelector
      .split(',')
      .every((part) => part === '' || test(part, (path) => fieldOf(object, path))) &&
    labelSelector.split(',').every((part) => part === '' || test(part, (name) => labels[name]))
  )
}

/** RFC 7386; lists are replaced, so of strategic patches it serves those that merge no lists, or delete from lists of texts. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return copyJson(patch)
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {}
  const deletion = '$deleteFromPrimitiveList/'
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith(deletion)) {
      const list = name.slice(deletion.length)
      result[list] = ((result[list] ?? []) as unknown[]).filter(
        (item) => !(value as unknown[]).includes(item),
      )
    } else if (value === null) delete result[name]
    else result[name] = mergePatch(result[name], value)
  }
  return result
}

/** RFC 6902 test, add, replace and remove. */
export function jsonPatch(
  target: KubeObject,
  patch: readonly { op: string; path: string; value?: unknown }[],
) {
  const result = copyJson(target)
  for (const { op, path, value } of patch) {
    const parts = path
      .slice(1)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = parts.pop() ?? ''
    // oxlint-disable-next-line typescript/no-explicit-any -- any JSON
    const parent = parts.reduce<any>((at, part) => at[part], result)
    if (op === 'test') {
      if (!isDeepStrictEqual(parent[last], value))
        throw new StatusError('Invalid', `testing value ${path} failed`)
    } else if (op === 'remove') {
      if (Array.isArray(parent)) parent.splice(Number(last), 1)
      else delete parent[last]
    } else if (Array.isArray(parent) && op === 'add') {
      parent.splice(last === '-' ? parent.length : Number(last), 0, value)
    } else parent[last] = value
  }
  return result
}
