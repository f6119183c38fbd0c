/** The kubeconfigs of a cluster's owner and components. Merging one into a user's own file is merge-kubeconfig.ts. */
import { createKubeconfig } from '../../components/client/kubeconfig.ts'
import type { Kubeconfig, NewKubeconfig } from '../../components/client/kubeconfig.ts'

/** The context that `skiff kubeconfig --merge` writes, and the names in a cluster's own file. */
export function contextName(clusterName: string): string {
  return `skiff-${clusterName}`
}

/** A kubeconfig with one name for the cluster, the user and the context. */
export function namedKubeconfig(
  name: string,
  options: Pick<NewKubeconfig, 'server' | 'serverName' | 'ca' | 'credentials'>,
): Kubeconfig {
  return createKubeconfig({ ...options, cluster: name, user: name, context: name })
}

/** The administrator's kubeconfig, with everything embedded. */
export function adminKubeconfig(
  clusterName: string,
  options: {
    readonly server: string
    readonly serverName?: string | undefined
    readonly authorityPem: string
    readonly credential: { readonly certificatePem: string; readonly privateKeyPem: string }
  },
): Kubeconfig {
  const { server, serverName, authorityPem, credential } = options
  const credentials = { cert: credential.certificatePem, key: credential.privateKeyPem }
  return namedKubeconfig(contextName(clusterName), {
    server,
    serverName,
    ca: authorityPem,
    credentials,
  })
}
