/** Secret: type default, stringData, size, keys of typed secrets, immutability (upstream: validation.ValidateSecret). */
import { labelKey } from '../../../api/dialect.ts'
import type { Secret } from '../../../api/generated/types.ts'
import { deepEqual, type KubeObject } from '../../../machinery/object.ts'
import { FieldPath } from '../../../machinery/field-path.ts'
import { configKey } from '../../../machinery/names.ts'
import { fieldIsImmutable } from '../../../machinery/object-meta-validation.ts'
import type { FieldError } from '../../../machinery/status-error.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'

const mostBytes = 1024 * 1024

/** stringData is for writing only: what it holds ends up in data. */
function mergeStringData(secret: KubeObject): void {
  const { stringData } = secret as unknown as Secret
  if (stringData === undefined) return
  const data: Record<string, string> = { ...(secret as unknown as Secret).data }
  for (const [key, text] of Object.entries(stringData)) {
    data[key] = Buffer.from(text).toString('base64')
  }
  delete secret['stringData']
  if (Object.keys(data).length > 0) secret['data'] = data
}

/** Keys that a type demands, by the name after the label domain. */
const requiredKeys: Readonly<Record<string, readonly (readonly string[])[]>> = {
  dockercfg: [['.dockercfg']],
  dockerconfigjson: [['.dockerconfigjson']],
  'basic-auth': [['username', 'password']],
  'ssh-auth': [['ssh-privatekey']],
  tls: [['tls.crt'], ['tls.key']],
}

function validate(object: KubeObject, { dialect }: StrategyContext): FieldError[] {
  const secret = object as unknown as Secret
  const root = FieldPath.root()
  const data = secret.data ?? {}
  const at = root.child('data')
  let total = 0
  for (const [key, value] of Object.entries(data)) {
    at.key(key).invalidEach(key, configKey(key))
    total += Buffer.byteLength(value, 'base64')
  }
  if (total > mostBytes) at.tooLong(mostBytes)
  const type = secret.type ?? ''
  if (type === labelKey(dialect, '', 'service-account-token')) {
    const account = labelKey(dialect, '', 'service-account.name')
    if (!secret.metadata.annotations?.[account]) {
      root.child('metadata').child('annotations').key(account).required()
    }
  }
  const prefix = labelKey(dialect, '', '')
  const wanted = type.startsWith(prefix) ? requiredKeys[type.slice(prefix.length)] : undefined
  for (const alternatives of wanted ?? []) {
    if (alternatives.some((key) => data[key] !== undefined)) continue
    for (const key of alternatives) at.key(key).required()
  }
  return root.errors
}

export const secretStrategy: Strategy = {
  applyDefaults(object) {
    mergeStringData(object)
    if (!object['type']) object['type'] = 'Opaque'
  },
  validate,
  validateUpdate(object, old, context) {
    const root = FieldPath.root()
    if (object['type'] !== old['type']) root.child('type').invalid(object['type'], fieldIsImmutable)
    if (old['immutable'] === true) {
      if (object['immutable'] !== true) {
        root.child('immutable').forbidden('field is immutable when `immutable` is set')
      }
      if (!deepEqual(object['data'] ?? {}, old['data'] ?? {})) {
        root.child('data').forbidden('field is immutable when `immutable` is set')
      }
    }
    return [...root.errors, ...validate(object, context)]
  },
}
