/** Which base image (components/api-server/saving/base-image.ts) a new cluster of processes begins with. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ClusterConfig } from './cluster-config.ts'
import type { Programs } from './programs.ts'

/** Path in the build's folder. Undefined where other flags, another dialect or an etcd ask for other objects, and in a build without one. */
export function baseImageFor(config: ClusterConfig, { folder }: Programs): string | undefined {
  const { dialect, etcd, apiServers, extraFlags } = config
  const isUsual =
    dialect === 'kubernetes' &&
    etcd === undefined &&
    apiServers === undefined &&
    Object.keys({ ...extraFlags['api-server'], ...extraFlags['controller-manager'] }).length === 0
  const file = join(folder, 'base-image-with-controllers.txt')
  return isUsual && existsSync(file) ? file : undefined
}
