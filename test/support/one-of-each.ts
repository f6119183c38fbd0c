/** The smallest valid object of every stored kind, in the words of either dialect. */
import { createCertificateRequest } from '../../certs/csr.ts'
import { generateKeyPair } from '../../certs/keys.ts'
import type { TestApiServer } from './api-server.ts'

export interface Sample {
  /** Its collection; namespaced kinds in the namespace given. */
  readonly path: string
  readonly body: { readonly metadata: { readonly name: string }; readonly [field: string]: unknown }
}

const containers = [{ name: 'c', image: 'i' }]
const template = { metadata: { labels: { a: 'b' } }, spec: { containers } }
const once = { spec: { containers, restartPolicy: 'Never' } }
const selector = { matchLabels: { a: 'b' } }
const claim = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
}

function signingRequest(): string {
  const subject = { commonName: 'somebody', organizations: [] }
  return Buffer.from(createCertificateRequest(generateKeyPair(), { subject })).toString('base64')
}

/** By path below the group version; `*` stands for the namespace. */
function bodies(group: (stem: string) => string): Record<string, object> {
  const rbac = group('rbac.authorization')
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'view' }
  const subjects = [{ kind: 'User', name: 'u' }]
  const webhook = {
    name: 'a.b.c',
    clientConfig: { url: 'https://x' },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }
  return {
    'api/v1/namespaces': {},
    'api/v1/nodes': {},
    'api/v1/persistentvolumes': {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/x' },
      },
    },
    'api/v1/*/configmaps': { data: { a: 'b' } },
    'api/v1/*/endpoints': { subsets: [{ addresses: [{ ip: '1.2.3.4' }], ports: [{ port: 80 }] }] },
    'api/v1/*/events': { involvedObject: { namespace: '*' }, reason: 'x' },
    'api/v1/*/limitranges': { spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] } },
    'api/v1/*/persistentvolumeclaims': { spec: claim },
    'api/v1/*/pods': { spec: { containers } },
    'api/v1/*/podtemplates': { template },
    'api/v1/*/replicationcontrollers': { spec: { selector: { a: 'b' }, template } },
    'api/v1/*/resourcequotas': { spec: { hard: { pods: '100' } } },
    'api/v1/*/secrets': { stringData: { a: 'b' } },
    'api/v1/*/serviceaccounts': {},
    'api/v1/*/services': { spec: { ports: [{ port: 80 }], selector: { a: 'b' } } },
    'apis/apps/v1/*/controllerrevisions': { revision: 1, data: { a: { b: 1 } } },
    'apis/apps/v1/*/daemonsets': { spec: { selector, template } },
    'apis/apps/v1/*/deployments': { spec: { selector, template } },
    'apis/apps/v1/*/replicasets': { spec: { selector, template } },
    'apis/apps/v1/*/statefulsets': {
      spec: {
        serviceName: 'x',
        selector,
        template,
        volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: claim }],
      },
    },
    'apis/autoscaling/v1/*/horizontalpodautoscalers': {
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'x' }, maxReplicas: 3 },
    },
    'apis/autoscaling/v2/*/horizontalpodautoscalers': {
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'x' }, maxReplicas: 3 },
    },
    'apis/batch/v1/*/cronjobs': {
      spec: { schedule: '* * * * *', jobTemplate: { spec: { template: once } } },
    },
    'apis/batch/v1/*/jobs': { spec: { template: once } },
    'apis/policy/v1/*/poddisruptionbudgets': { spec: { selector, minAvailable: 1 } },
    [`apis/${group('admissionregistration')}/v1/mutatingwebhookconfigurations`]: {
      webhooks: [webhook],
    },
    [`apis/${group('admissionregistration')}/v1/validatingwebhookconfigurations`]: {
      webhooks: [webhook],
    },
    [`apis/${group('admissionregistration')}/v1/validatingadmissionpolicies`]: {
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: [{ expression: 'true' }],
      },
    },
    [`apis/${group('admissionregistration')}/v1/validatingadmissionpolicybindings`]: {
      spec: { policyName: 'x', validationActions: ['Deny'] },
    },
    [`apis/${group('apiextensions')}/v1/customresourcedefinitions`]: {
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        names: { kind: 'Thing', plural: 'things' },
        scope: 'Namespaced',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object' } },
          },
        ],
      },
    },
    [`apis/${group('apiregistration')}/v1/apiservices`]: {
      metadata: { name: 'v1.x.y' },
      spec: {
        group: 'x.y',
        version: 'v1',
        groupPriorityMinimum: 100,
        versionPriority: 10,
      },
    },
    [`apis/${group('certificates')}/v1/certificatesigningrequests`]: {
      spec: {
        request: signingRequest(),
        signerName: 'example.com/signer',
        usages: ['client auth'],
      },
    },
    [`apis/${group('coordination')}/v1/*/leases`]: { spec: { holderIdentity: 'x' } },
    [`apis/${group('discovery')}/v1/*/endpointslices`]: {
      addressType: 'IPv4',
      endpoints: [{ addresses: ['1.2.3.4'] }],
    },
    [`apis/${group('events')}/v1/*/events`]: {
      eventTime: '2025-01-01T00:00:00.000000Z',
      action: 'test',
      reason: 'x',
      type: 'Normal',
      regarding: { namespace: '*' },
      reportingController: 'example.com/test',
      reportingInstance: 'one',
    },
    [`apis/${group('flowcontrol.apiserver')}/v1/flowschemas`]: {
      spec: { priorityLevelConfiguration: { name: 'x' } },
    },
    [`apis/${group('flowcontrol.apiserver')}/v1/prioritylevelconfigurations`]: {
      spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
    },
    [`apis/${group('networking')}/v1/ingressclasses`]: { spec: { controller: 'a.b/c' } },
    [`apis/${group('networking')}/v1/*/ingresses`]: {
      spec: { defaultBackend: { service: { name: 'x', port: { number: 80 } } } },
    },
    [`apis/${group('networking')}/v1/*/networkpolicies`]: {
      spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] },
    },
    [`apis/${group('node')}/v1/runtimeclasses`]: { handler: 'x' },
    [`apis/${rbac}/v1/clusterrolebindings`]: { roleRef, subjects },
    [`apis/${rbac}/v1/clusterroles`]: { rules },
    [`apis/${rbac}/v1/*/rolebindings`]: { roleRef, subjects },
    [`apis/${rbac}/v1/*/roles`]: { rules },
    [`apis/${group('scheduling')}/v1/priorityclasses`]: { value: 5 },
    [`apis/${group('storage')}/v1/csidrivers`]: { spec: {} },
    [`apis/${group('storage')}/v1/csinodes`]: { spec: { drivers: [] } },
    [`apis/${group('storage')}/v1/*/csistoragecapacities`]: { storageClassName: 'x' },
    [`apis/${group('storage')}/v1/storageclasses`]: { provisioner: 'x' },
    [`apis/${group('storage')}/v1/volumeattachments`]: {
      spec: { attacher: 'x', nodeName: 'n', source: { persistentVolumeName: 'p' } },
    },
  }
}

/** One of each kind that samples know, called `name` where names are free; namespaced ones in `namespace`. */
export function samples(
  server: Pick<TestApiServer, 'group'>,
  namespace: string,
  name = `sample-${namespace}`,
): Sample[] {
  return Object.entries(bodies(server.group)).map(([path, body]) => {
    const text = JSON.stringify({ metadata: { name }, ...body })
    return {
      path: `/${path.replace('*', `namespaces/${namespace}`)}`,
      body: JSON.parse(text.replaceAll('"*"', JSON.stringify(namespace))) as Sample['body'],
    }
  })
}
