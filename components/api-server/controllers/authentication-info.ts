/** authentication-info: the ConfigMap `extension-apiserver-authentication` (upstream: controlplane clusterauthenticationtrust). */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { ensureObject } from './ensure-object.ts'
import { replaceData } from './reconcile-own-objects.ts'

/** The values that extension API servers need to authenticate as this server does. */
export interface AuthenticationInfo {
  readonly clientCaPem?: string
  readonly requestHeaderCaPem?: string
  readonly requestHeaderAllowedNames?: readonly string[]
  readonly requestHeaderUsernameHeaders?: readonly string[]
  /** Empty while the feature gate is off. The key is then left out. */
  readonly requestHeaderUidHeaders?: readonly string[]
  readonly requestHeaderGroupHeaders?: readonly string[]
  readonly requestHeaderExtraPrefixes?: readonly string[]
}

function authenticationConfigMap(info: AuthenticationInfo, dialect: Dialect): KubeObject {
  const list = (items: readonly string[] | undefined): string => JSON.stringify(items ?? [])
  const data = {
    ...(info.clientCaPem === undefined ? {} : { 'client-ca-file': info.clientCaPem }),
    ...(info.requestHeaderCaPem === undefined
      ? {}
      : {
          'requestheader-client-ca-file': info.requestHeaderCaPem,
          'requestheader-allowed-names': list(info.requestHeaderAllowedNames),
          'requestheader-username-headers': list(info.requestHeaderUsernameHeaders),
          ...(info.requestHeaderUidHeaders?.length
            ? { 'requestheader-uid-headers': list(info.requestHeaderUidHeaders) }
            : {}),
          'requestheader-group-headers': list(info.requestHeaderGroupHeaders),
          'requestheader-extra-headers-prefix': list(info.requestHeaderExtraPrefixes),
        }),
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'extension-apiserver-authentication',
      namespace: dialect.systemNamespace,
    },
    data,
  }
}

/** Call again when the values change. Rejects with a StatusError. */
export async function ensureAuthenticationInfo(
  { client, dialect }: { readonly client: LocalClient; readonly dialect: Dialect },
  info: AuthenticationInfo,
): Promise<void> {
  await ensureObject(client, {
    resource: resourcesOf(dialect).configMaps,
    object: authenticationConfigMap(info, dialect),
    reconcile: replaceData,
  })
}
