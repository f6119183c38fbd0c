/** ServiceAccount (upstream: pkg/registry/core/serviceaccount). */
import { labelKey } from '../../../api/dialect.ts'
import type { ServiceAccount } from '../../../api/generated/types.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy } from '../strategy.ts'

/** Of a referenced Secret only the name counts. */
function keepNamesOnly(object: KubeObject): void {
  const account = object as ServiceAccount
  if (!account.secrets) return
  account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }))
}

export const serviceAccountStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  prepareForCreate: keepNamesOnly,
  prepareForUpdate: keepNamesOnly,
  warnings(object, old, { dialect }) {
    const key = labelKey(dialect, '', 'enforce-mountable-secrets')
    const isNew = old?.metadata.annotations?.[key] === undefined
    if (!isNew || object.metadata.annotations?.[key] === undefined) return []
    return [
      `metadata.annotations[${key}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
    ]
  },
}
