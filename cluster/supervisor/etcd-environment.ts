/** The environment of etcd, which takes flags from it, too. */
import { environment } from '../../components/component-base/environment.ts'

/** What the user has there is meant for other etcds; the architecture is the machine's. */
export function withoutEtcdVariables(): Record<string, undefined> {
  const names = Object.keys(environment).filter(
    (name) => name.startsWith('ETCD_') && name !== 'ETCD_UNSUPPORTED_ARCH',
  )
  return Object.fromEntries(names.map((name) => [name, undefined]))
}
