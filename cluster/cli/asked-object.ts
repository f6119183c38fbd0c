/** The object that a command line names: `KIND NAME` or `KIND/NAME`. */
import { ClusterError } from '../cluster-error.ts'

export interface AskedObject {
  readonly kind: string
  readonly name: string
}

/** Throws a ClusterError of kind `usage` for anything else. */
export function askedObject(command: string, args: readonly string[]): AskedObject {
  const [first = '', second] = args
  const [kind = '', name = '', ...more] = second === undefined ? first.split('/') : [first, second]
  if (kind !== '' && name !== '' && more.length === 0) return { kind, name }
  throw new ClusterError('usage', `skiff ${command} needs KIND NAME or KIND/NAME`, {
    hint: `see: skiff ${command} --help`,
  })
}
