/** Renewing a cluster's certificates: new files in its pki, and the kubeconfig that embeds the administrator's. */
import { renewEtcdPki } from '../../certs/etcd-pki.ts'
import type { CredentialName } from '../../certs/pki.ts'
import { renewPki } from '../../certs/renew.ts'
import { checkAuthorities, readAuthorityPem } from '../state/check-pki.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { apiServerNames, writeAdminKubeconfig } from './prepare.ts'
import type { StatePaths } from '../state/state-dir.ts'

/** Components that read the files when they start have to be restarted afterwards. */
export async function renewCertificates(options: {
  config: ClusterConfig
  paths: StatePaths
  names: readonly CredentialName[]
  /** Also those of the etcd that the cluster runs. */
  withEtcd: boolean
  nowMs: number
}): Promise<void> {
  const { config, paths, names, nowMs } = options
  checkAuthorities(paths)
  if (options.withEtcd) await renewEtcdPki(paths.pki, { addresses: [config.address], nowMs })
  const renewed = await renewPki(paths.pki, { apiServer: apiServerNames(config), names, nowMs })
  if (renewed.admin === undefined) return
  const authorityPem = readAuthorityPem(paths)
  await writeAdminKubeconfig(options, { authorityPem, credential: renewed.admin })
}
