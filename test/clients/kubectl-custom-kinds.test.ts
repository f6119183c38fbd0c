/** What kubectl of each release makes of the OpenAPI documents of custom kinds. */
import { basename, join } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { admin } from '../support/api-server.ts'
import { define } from '../support/custom-definitions.ts'
import { sharedServer } from '../support/shared-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { writeKubeconfig } from '../support/test-kubeconfig.ts'
import { kubectlFor, oneKubectlPerRelease, requireKubectl } from '../e2e/kubectl.ts'

const { test } = requireKubectl()
const kubectls = await oneKubectlPerRelease()

const group = 'kinds.example.com'
const text = { type: 'string', description: 'A text.' }
const free = { 'x-kubernetes-preserve-unknown-fields': true }
const parts = {
  open: { type: 'object', description: 'Any field.', properties: { known: text }, ...free },
  openList: { type: 'array', items: { type: 'object', properties: { known: text }, ...free } },
  untyped: { description: 'Any value.', ...free },
  name: { type: 'string', nullable: true },
  options: { type: 'object', nullable: true, properties: { known: text }, required: ['known'] },
  list: { type: 'array', nullable: true, items: text },
  port: { 'x-kubernetes-int-or-string': true, description: 'A number or a name.' },
  template: {
    type: 'object',
    description: 'A whole object.',
    'x-kubernetes-embedded-resource': true,
    properties: { spec: { type: 'object', properties: { known: text } } },
  },
  anyObject: { type: 'object', 'x-kubernetes-embedded-resource': true, ...free },
}

const inner = {
  apiVersion: 'v1',
  kind: 'Anything',
  metadata: { name: 'inner', labels: { a: 'b' } },
}

/** Two of a kind without fields of its own, and one of a kind with parts of every sort. */
const list = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    { apiVersion: `${group}/v1`, kind: 'Loose', metadata: { name: 'a' }, spec: { x: 1 }, more: [] },
    { apiVersion: `${group}/v1`, kind: 'Loose', metadata: { name: 'b' } },
    {
      apiVersion: `${group}/v1`,
      kind: 'Mixed',
      metadata: { name: 'c', labels: { a: 'b' }, annotations: { a: 'b' } },
      spec: {
        open: { known: 'a', other: { x: 1 } },
        openList: [{ other: true }, {}],
        untyped: [1, 'a', { x: true }],
        name: 'a',
        options: { known: 'a' },
        list: ['a'],
        port: 'http',
        template: { ...inner, spec: { known: 'a' } },
        anyObject: { ...inner, spec: { x: [1] } },
      },
    },
  ],
}

describe.runIf(kubectls.length > 0)('each kubectl', () => {
  const server = sharedServer()
  let home: string

  beforeAll(async () => {
    home = temporaryFolder('kubectl-custom-kinds')
    writeKubeconfig(join(home, 'kubeconfig'), server(), admin)
    await define(server(), { group, kind: 'Loose', schema: { type: 'object', ...free } })
    const spec = { type: 'object', required: ['name', 'options'], properties: parts }
    const metadata = { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } }
    const schema = { type: 'object', description: 'All sorts.', properties: { metadata, spec } }
    await define(server(), { group, kind: 'Mixed', schema })
  })

  const kubectlOf = (path: string) =>
    kubectlFor(
      { home, kubeconfig: join(home, 'kubeconfig') },
      { path, namespace: basename(path).replaceAll('.', '-'), hasControllers: false },
    )

  test.each(kubectls.map((path) => [basename(path), path]))(
    '%s applies a List of custom resources, again without a change, and validates it itself',
    async (_, path) => {
      const kubectl = (await kubectlOf(path)).withInput(JSON.stringify(list))
      const names = [`loose.${group}/a`, `loose.${group}/b`, `mixed.${group}/c`]
      const all = (verb: string) => names.map((name) => `${name} ${verb}`).join('\n')
      expect(await kubectl.ok`apply -f -`).toBe(all('created'))
      expect(await kubectl.ok`apply -f -`).toBe(all('unchanged'))
      expect(await kubectl.ok`apply --dry-run=client --validate=true -f -`).toContain(names[2])
      const { metadata, spec } = await kubectl.json`get mixed c -o json`
      expect(metadata.labels).toEqual({ a: 'b' })
      expect(spec).toEqual(list.items[2]?.spec)
    },
  )

  test.each(kubectls.map((path) => [basename(path), path]))(
    '%s explains custom kinds',
    async (_, path) => {
      const kubectl = await kubectlOf(path)
      for (const output of ['plaintext', 'plaintext-openapiv2']) {
        const explain = (field: string) => kubectl.ok`explain ${field} --output=${output}`
        expect(await explain('loose')).toContain('KIND:')
        const whole = await explain('mixed')
        expect(whole).toContain('All sorts.')
        expect(whole).toContain('Servers should convert recognized schemas to the latest internal')
        expect(await explain('mixed.metadata.labels')).toMatch(/labels.*<map\[string\]string>/i)
        expect(await explain('mixed.spec.template')).toMatch(
          /apiVersion\t<string> (-required-|required)/,
        )
        expect(await explain('mixed.spec.template.metadata.name')).toContain('name')
      }
    },
  )
})
