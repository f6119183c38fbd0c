/** explainScheduling: what the scheduler says about a pod that waits. */
import type { Cluster } from '../../../cluster/cluster.ts'
import { createAskScheduler } from '../../../cluster/why/ask-scheduler.ts'
import type { PodExplanation } from '../../../components/api/pod-explanation.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'

/** Both become part of a path. */
const isName = (text: string): boolean => /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(text)

/** Throws a StatusError: 404 for a pod that does not wait, 503 when the scheduler does not answer. */
export async function explainScheduling(
  cluster: Cluster,
  namespace: string,
  name: string,
): Promise<PodExplanation> {
  if (!isName(namespace) || !isName(name)) {
    throw new StatusError('BadRequest', 'a namespace and the name of a pod are needed')
  }
  const answer = await createAskScheduler(cluster)(`${namespace}/${name}`)
  if (answer.kind === 'answered') return answer.explanation
  if (answer.kind === 'not-waiting') {
    throw new StatusError('NotFound', `pod ${namespace}/${name} does not wait for a node`)
  }
  throw new StatusError('ServiceUnavailable', `the scheduler does not answer: ${answer.why}`)
}
