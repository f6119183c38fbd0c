/**
 * Protobuf as client-go reads it: kubectl from 1.32 on asks for it when it creates, and prints the object that the answer
 * held. The answers are random objects, written by the API server's own form; whatever is sent is left unread.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf, type ResourceKey } from '../../components/api/resources.ts'
import { schemaOf } from '../../components/api/schemas.ts'
import { protobufForm } from '../../components/api-server/encoding/protobuf-form.ts'
import { objectView } from '../../components/api-server/encoding/view.ts'
import { shownObject } from '../../components/api-server/encoding/form.ts'
import { decode } from '../../components/machinery/schema/decode.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import {
  readProtobuf,
  readProtobufEnvelope,
} from '../../components/machinery/protobuf/protobuf-reader.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import { writeProtobuf } from '../../components/machinery/protobuf/protobuf-writer.ts'
import { arbitraryObject } from '../support/arbitrary-object.ts'
import { oneKubectlPerRelease, requireKubectl } from './kubectl.ts'
import { run } from './program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Commands that send one object of a kind and print what comes back. */
const commands: [key: ResourceKey, words: string][] = [
  ['configMaps', 'configmap x --from-literal=a=b'],
  ['secrets', 'secret generic x --from-literal=a=b'],
  ['namespaces', 'namespace x'],
  ['serviceAccounts', 'serviceaccount x'],
  ['services', 'service clusterip x --tcp=80'],
  ['resourceQuotas', 'quota x --hard=pods=1'],
  ['deployments', 'deployment x --image=y'],
  ['jobs', 'job x --image=y'],
  ['cronJobs', 'cronjob x --image=y --schedule=1'],
  ['ingresses', 'ingress x --rule=/=a:80'],
  ['podDisruptionBudgets', 'poddisruptionbudget x --selector=a=b --min-available=1'],
  ['priorityClasses', 'priorityclass x --value=1'],
  ['clusterRoles', 'clusterrole x --verb=get --non-resource-url=/x'],
  ['clusterRoleBindings', 'clusterrolebinding x --clusterrole=y --user=z'],
  ['roleBindings', 'rolebinding x --clusterrole=y --user=z'],
]

const runs = 6

requireKubectl()
const kubectls = (await oneKubectlPerRelease()).filter(
  (path) => !/kubectl\.1\.(2\d|3[01])$/.test(path),
)
const newest = kubectls.at(-1)

describe.runIf(newest !== undefined)('what client-go reads', () => {
  let server: Server
  let home: string
  let answer: Buffer = Buffer.alloc(0)
  let sent: Buffer = Buffer.alloc(0)
  let accepted = ''

  beforeAll(async () => {
    home = temporaryFolder('kubectl-protobuf')
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      accepted = request.headers.accept ?? ''
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        sent = Buffer.concat(chunks)
        response.writeHead(201, { 'content-type': dialects.kubernetes.protobufMediaType })
        response.end(answer)
      })
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
  })

  afterAll(() => {
    server.close()
  })

  const create = async (words: string): Promise<Record<string, unknown>> => {
    const { port } = server.address() as AddressInfo
    const address = `http://127.0.0.1:${port}`
    const line = ['create', ...words.split(' '), '-o', 'json', '-n', 'x', '-s', address]
    const { stdout, stderr } = await run(newest ?? '', line, {
      env: { ...process.env, HOME: home, KUBECONFIG: join(home, 'none') },
      timeoutMs: 90_000,
    })
    expect(stderr).toBe('')
    return JSON.parse(stdout) as Record<string, unknown>
  }

  test.each(commands)('%s are the same object', async (key, words) => {
    const resource = resourcesOf(dialects.kubernetes)[key]
    const schemaName = `${resource.package}.${resource.kind}`
    const schema = schemaOf(schemaName)
    const type = { kind: resource.kind, apiVersion: apiVersionOf(resource) }
    const form = protobufForm(objectView(resource), schema, dialects.kubernetes.protobufMediaType)
    await fc.assert(
      fc.asyncProperty(arbitraryObject(schemaName, type), async (object) => {
        answer = await form.one(shownObject(object))
        const printed = await create(words)
        expect(accepted).toContain(dialects.kubernetes.protobufMediaType)
        expect(decode<KubeObject>(printed, schema).object).toEqual(
          decode<KubeObject>(object, schema).object,
        )
        // And what it wrote itself is read here, and written again byte for byte.
        const { kind, raw } = readProtobufEnvelope(sent)
        expect(kind).toBe(resource.kind)
        const read = readProtobuf(schema, raw)
        expect(read['metadata']).toMatchObject({ name: 'x' })
        expect(writeProtobuf(schema, read).equals(raw)).toBe(true)
      }),
      { numRuns: runs },
    )
  })
})
