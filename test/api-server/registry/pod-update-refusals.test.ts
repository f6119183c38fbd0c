/** What a client is shown of a Pod's fields that may not change. */
import { expect, it } from 'vitest'
import { sharedServer } from '../../support/shared-server.ts'

const mayNot =
  'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

const server = sharedServer()

async function made() {
  const at = `/api/v1/namespaces/${await server().namespace()}/pods`
  const containers = [
    { name: 'a', image: 'i', command: ['x'], env: [{ name: 'E', value: '1' }], tty: true },
    { name: 'b', image: 'i' },
  ]
  const pod = await server().ok('POST', at, {
    body: { metadata: { name: 'p' }, spec: { containers } },
  })
  return { item: `${at}/p`, pod }
}

/** The lines below the first: the list of changes. */
async function changesOf(edit: (spec: any) => void): Promise<string[]> {
  const { item, pod } = await made()
  edit(pod.spec)
  const { status, body } = await server().request('PUT', item, { body: pod })
  expect(status).toBe(422)
  const [first, ...lines] = (body.message as string).split('\n')
  expect(first).toBe(mayNot)
  expect(body.details.causes).toEqual([
    {
      reason: 'FieldValueForbidden',
      field: 'spec',
      message: body.message.slice('Pod "p" is invalid: spec: '.length),
    },
  ])
  return lines
}

it('a text that is empty is shown as such, a pointer without a value as nil', async () => {
  const lines = await changesOf((spec) => {
    spec.nodeName = 'n'
    spec.hostname = 'h'
  })
  expect(lines).toContain('- \tNodeName:                     "",')
  expect(lines).toContain('+ \tNodeName:                     "n",')
  expect(lines).toContain('  \tImagePullSecrets:             nil,')
  expect(lines).toContain('- \tHostname:                     "",')
  expect(lines).toContain('  \tSetHostnameAsFQDN:            nil,')
})

it('a pointer is shown by what it points to', async () => {
  const lines = await changesOf((spec) => {
    spec.terminationGracePeriodSeconds = 5
  })
  expect(lines).toContain('- \tTerminationGracePeriodSeconds: &30,')
  expect(lines).toContain('+ \tTerminationGracePeriodSeconds: &5,')
  expect(lines).toContain('  \tActiveDeadlineSeconds:         nil,')
})

it('of containers those that changed are opened, whatever the order of their fields', async () => {
  const lines = await changesOf((spec) => {
    const [a, b] = spec.containers
    delete a.command
    a.env[0].value = '2'
    const reversed = Object.fromEntries(Object.entries(b).toReversed())
    spec.containers = [Object.fromEntries(Object.entries(a).toReversed()), reversed]
  })
  expect(lines.slice(3, -5)).toEqual([
    '  \tContainers: []core.Container{',
    '  \t\t{',
    '  \t\t\tName:       "a",',
    '  \t\t\tImage:      "i",',
    '- \t\t\tCommand:    []string{"x"},',
    '+ \t\t\tCommand:    nil,',
    '  \t\t\tArgs:       nil,',
    '  \t\t\tWorkingDir: "",',
    '  \t\t\tPorts:      nil,',
    '  \t\t\tEnvFrom:    nil,',
    '  \t\t\tEnv: []core.EnvVar{',
    '  \t\t\t\t{',
    '  \t\t\t\t\tName:      "E",',
    '- \t\t\t\t\tValue:     "1",',
    '+ \t\t\t\t\tValue:     "2",',
    '  \t\t\t\t\tValueFrom: nil,',
    '  \t\t\t\t},',
    '  \t\t\t},',
    '  \t\t\tResources:    {},',
    '  \t\t\tResizePolicy: nil,',
    '  \t\t\t... // 14 identical fields',
    '  \t\t},',
    '  \t\t... // 1 identical element',
    '  \t},',
  ])
})

it('an update that only orders the fields of containers anew is none', async () => {
  const { item, pod } = await made()
  pod.spec.containers = pod.spec.containers.map((container: object) =>
    Object.fromEntries(Object.entries(container).toReversed()),
  )
  const { status, body } = await server().request('PUT', item, { body: pod })
  expect(status).toBe(200)
  expect(body.metadata.resourceVersion).toBe(pod.metadata.resourceVersion)
})
