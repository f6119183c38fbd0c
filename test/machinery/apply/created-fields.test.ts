import { describe, expect, it } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import { createdFields } from '../../../components/machinery/apply/created-fields.ts'
import { decode } from '../../../components/machinery/schema/decode.ts'
import { comparedFields } from '../../models/objects/compared-fields.ts'

// Those of random objects of every kind: test/models/objects.test.ts.
describe('the fields of a new object', () => {
  it('are as a real server lists them', () => {
    const schema = schemaOf('core/v1.Pod')
    const pod = {
      metadata: { name: 'p', labels: { a: 'b' }, finalizers: ['x/y'] },
      spec: {
        containers: [
          { name: 'z', image: 'i', ports: [{ containerPort: 80, protocol: 'TCP' }] },
          { name: 'c', image: 'i', livenessProbe: { httpGet: { port: 80 } } },
        ],
        volumes: [{ name: 'v', emptyDir: {} }],
        tolerations: [{ key: 'k' }],
      },
    }
    const { object } = decode(pod, schema)
    expect(JSON.parse(createdFields(schema, object, ['status']) ?? '')).toEqual({
      'f:metadata': {
        'f:finalizers': { '.': {}, 'v:"x/y"': {} },
        'f:labels': { '.': {}, 'f:a': {} },
      },
      'f:spec': {
        'f:containers': {
          'k:{"name":"c"}': {
            '.': {},
            'f:image': {},
            'f:livenessProbe': { '.': {}, 'f:httpGet': { '.': {}, 'f:port': {} } },
            'f:name': {},
            'f:resources': {},
          },
          'k:{"name":"z"}': {
            '.': {},
            'f:image': {},
            'f:name': {},
            'f:ports': {
              '.': {},
              'k:{"containerPort":80,"protocol":"TCP"}': {
                '.': {},
                'f:containerPort': {},
                'f:protocol': {},
              },
            },
            'f:resources': {},
          },
        },
        'f:tolerations': {},
        'f:volumes': {
          '.': {},
          'k:{"name":"v"}': { '.': {}, 'f:emptyDir': {}, 'f:name': {} },
        },
      },
    })
  })

  it('own an item that comes twice as one', () => {
    const schema = schemaOf('core/v1.Pod')
    const env = [
      { name: 'A', value: '1' },
      { name: 'A', value: '2' },
      { name: 'A', value: '3' },
    ]
    const { object } = decode({ spec: { containers: [{ name: 'c', env }] } }, schema)
    const fields = createdFields(schema, object, ['status'])
    expect(fields).toContain('"f:env":{".":{},"k:{\\"name\\":\\"A\\"}":{}}')
    expect(fields).toBe(comparedFields('core/v1.Pod', object, ['status']))
  })
})
