/** Files with the line ends of Windows: they mean what they mean with those of Unix. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parsePolicies } from '../../components/api-server/authz/abac.ts'
import { parseStaticTokens } from '../../components/api-server/authn/static-token-file.ts'
import { dialects } from '../../components/api/dialect.ts'
import { parseKubeconfig } from '../../components/client/kubeconfig.ts'
import { readManifests } from '../../library/manifests.ts'
import { readScenario } from '../../scenarios/engine/scenario.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder('line ends 换行')

const manifests = `apiVersion: v1
kind: ConfigMap
metadata:
  name: one
data:
  text: |
    first
    second
---
apiVersion: v1
kind: ConfigMap
metadata: { name: two }
`

const scenario = `description: >
  One line
  and another.
steps:
  - name: a step
    sleep: 1s
`

const kubeconfig = `apiVersion: v1
kind: Config
current-context: a
contexts: [{ name: a, context: { cluster: c, user: u } }]
clusters:
  - name: c
    cluster: { server: 'https://127.0.0.1:6443' }
users: [{ name: u, user: { token: secret } }]
`

const policies = `{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"user": "jane"}}

# nothing
{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"user": "bob"}}
`

const tokens = `token-one,jane,uid-1,"dev,ops"
token-two,bob,uid-2
`

async function inFile<T>(name: string, text: string, read: (path: string) => T): Promise<T> {
  const path = join(folder, name)
  writeFileSync(path, text)
  return await read(path)
}

const readers: readonly (readonly [string, string, (text: string) => unknown])[] = [
  [
    'manifests',
    manifests,
    async (text) =>
      (await inFile('m.yaml', text, (path) => readManifests([path]))).map(({ object }) => object),
  ],
  [
    'a scenario',
    scenario,
    async (text) => {
      const { description, steps } = await inFile('s.yaml', text, readScenario)
      return { description, steps: JSON.stringify(steps) }
    },
  ],
  ['a kubeconfig', kubeconfig, parseKubeconfig],
  ['ABAC policies', policies, (text) => parsePolicies(text, dialects.kubernetes)],
  ['static tokens', tokens, (text) => [...parseStaticTokens(text).users.values()]],
]

test.each(readers)('%s mean the same with CRLF', async (_, text, read) => {
  const expected = await read(text)
  expect(expected).toBeTruthy()
  expect(await read(text.replaceAll('\n', '\r\n'))).toEqual(expected)
})
