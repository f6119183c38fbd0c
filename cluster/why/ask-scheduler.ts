/** Asks the scheduler about a pod, on its own listener, with the administrator's certificate (`/explain/pods/NAMESPACE/NAME`). */
import type { PodExplanation } from '../../components/api/pod-explanation.ts'
import { createRestClient } from '../../components/client/rest-client.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { StatusError } from '../../components/machinery/objects/status-error.ts'
import type { Cluster } from '../cluster.ts'
import { serverUrl } from '../plan/cluster-config.ts'
import { readAuthorityPem, readCheckedCredential } from '../state/check-pki.ts'
import type { SchedulerAnswer } from './related.ts'

/** A scheduler that is stuck must not hold up the answer. */
const timeoutMs = 5000

export type AskScheduler = (key: string) => Promise<SchedulerAnswer>

/** Where the scheduler listens, or why it cannot be asked. */
async function schedulerPort({ control }: Pick<Cluster, 'control'>): Promise<number | string> {
  const { components } = await control.call('status', {})
  const found = components.find(({ program }) => program === 'scheduler')
  if (found === undefined) return 'the cluster has none'
  const { state, message, info } = found
  if (state !== 'ready') return `it is ${state}${message === undefined ? '' : `: ${message}`}`
  const port = info?.['port']
  return typeof port === 'number' ? port : 'it has no listener'
}

/** Asks about the pod with the key `namespace/name`. A scheduler that does not answer is an answer too. */
export function createAskScheduler(
  cluster: Pick<Cluster, 'control' | 'config' | 'paths'>,
): AskScheduler {
  /** Looked up once for all pods of a question. */
  let listener: Promise<number | string> | undefined
  return async (key) => {
    listener ??= schedulerPort(cluster).catch(messageOf)
    const port = await listener
    if (typeof port === 'string') return { kind: 'silent', why: port }
    const { certificatePem: cert, privateKeyPem } = readCheckedCredential(cluster.paths, 'admin')
    const rest = createRestClient({
      server: serverUrl({ address: cluster.config.address, port }),
      ca: readAuthorityPem(cluster.paths),
      credentials: { cert, key: privateKeyPem },
      timeoutMs,
      retries: 0,
    })
    try {
      const explanation = await rest.json({ method: 'GET', path: `/explain/pods/${key}` })
      return { kind: 'answered', explanation: explanation as PodExplanation }
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return { kind: 'not-waiting' }
      return { kind: 'silent', why: messageOf(error) }
    } finally {
      rest.close()
    }
  }
}
