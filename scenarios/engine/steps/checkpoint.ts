/** checkpoint: requests a checkpoint of a container from its node agent, and checks the archive. */
import { readFileSync, statSync } from 'node:fs'
import { createRestClient } from '../../../components/client/rest-client.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { boolean, described, integer, object, optional, string } from '../../../cluster/shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'

/** The address of a node's agent, from the Node's status. */
function agentUrl(node: KubeObject): string {
  const status = node['status'] as {
    addresses?: { type: string; address: string }[]
    daemonEndpoints?: { kubeletEndpoint?: { Port: number } }
  }
  const address = status.addresses?.find((one) => one.type === 'InternalIP')?.address
  const port = status.daemonEndpoints?.kubeletEndpoint?.Port
  if (address === undefined || port === undefined) {
    throw new Error(`node ${node.metadata.name ?? ''} does not say where its agent listens`)
  }
  return `https://${address.includes(':') ? `[${address}]` : address}:${port}`
}

async function nodeOfPod(
  { client, resources }: StepContext,
  pod: { namespace: string; name: string },
): Promise<KubeObject> {
  const found = await client.resource(resources.pods).get(pod)
  const name = (found['spec'] as { nodeName?: string }).nodeName
  if (name === undefined) throw new Error(`pod ${pod.name} is not bound to a node`)
  return await client.resource(resources.nodes).get({ name })
}

/** The faults of an archive: its name, format or file mode. */
function faultsOfArchive(path: string, namePattern: RegExp): string[] {
  const faults: string[] = []
  if (!namePattern.test(path)) faults.push(`${path} is not named like ${String(namePattern)}`)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return [...faults, `${path} is not there`]
  // Windows shows the same mode for every file.
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0)
    faults.push(`others may read it: mode ${(stat.mode & 0o777).toString(8)}`)
  // POSIX tar: the magic of every header block stands at byte 257.
  if (readFileSync(path).toString('latin1', 257, 262) !== 'ustar')
    faults.push('it is no tar archive')
  return faults
}

export const checkpoint = defineStep({
  name: 'checkpoint',
  summary: 'Checkpoint a container through its node agent and check the archive.',
  shape: object({
    namespace: described('Default: `default`.', optional(string)),
    pod: described('Name of the pod.', string),
    container: described('Name of the container.', string),
    anonymous: described('Send the request without credentials.', optional(boolean)),
    node: described('The node to ask. Default: the node of the pod.', optional(string)),
    status: described('Expected status. Default: 200.', optional(integer)),
  }),
  title: ({ pod, container }) => `checkpoint container ${container} of pod ${pod}`,
  run: async (params, context) => {
    const { client, cluster, resources, signal, note } = context
    const { namespace = 'default', pod, container, status: wanted = 200 } = params
    const node =
      params.node === undefined
        ? await nodeOfPod(context, { namespace, name: pod })
        : await client.resource(resources.nodes).get({ name: params.node })
    const { ca, credentials = {} } = cluster.agentCredentials()
    const agent = createRestClient({
      server: agentUrl(node),
      ca,
      // Agents can serve with a self-signed certificate, as by upstream's default. This step checks the archive.
      insecureSkipVerify: true,
      credentials: params.anonymous === true ? {} : credentials,
    })
    const answered = cluster.outside?.begin()
    try {
      const path = `/checkpoint/${namespace}/${pod}/${container}`
      const answer = await agent.bytes({ method: 'POST', path, signal }).then(
        ({ status, body }) => ({ status, text: body.toString() }),
        (error: unknown) => {
          if (!isStatusError(error)) throw error
          return { status: error.code, text: error.message }
        },
      )
      if (answer.status !== wanted) {
        throw new AssertionFailure({
          message: `the answer to POST ${path} is not as expected`,
          expected: [`status ${wanted}`],
          actual: [`status ${answer.status}`, answer.text.slice(0, 500)],
        })
      }
      if (wanted !== 200) return
      const { items = [] } = JSON.parse(answer.text) as { items?: string[] }
      const [archive] = items
      const folder = cluster.agentFolder(node.metadata.name ?? '')
      const pattern = new RegExp(
        `^${folder}/.*checkpoints/checkpoint-${pod}_${namespace}-${container}-.+\\.tar$`,
      )
      const faults =
        archive === undefined ? ['no archive was named'] : faultsOfArchive(archive, pattern)
      if (faults.length > 0) {
        throw new AssertionFailure({
          message: 'the archive is not as promised',
          expected: ["a tar archive in the agent's root directory, readable by its owner alone"],
          actual: faults,
        })
      }
      note(`archive: ${archive ?? ''}`)
    } finally {
      answered?.()
      agent.close()
    }
  },
})
