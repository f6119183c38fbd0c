/** What `skiff why` finds about Services and Ingresses. */
import { ingress } from '../../../cluster/why/kinds/ingress.ts'
import { service } from '../../../cluster/why/kinds/service.ts'
import { itExplains } from './cases.ts'
import { crashing, event, object, readyPod } from './objects.ts'

const web = object('Service', 'web', {
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'http' }] },
})
const slice = (ready: boolean) =>
  object('EndpointSlice', 'web-x', {
    metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready } }],
  })
const labelled = { metadata: { labels: { app: 'web' } } }
const http = {
  spec: {
    containers: [{ name: 'app', image: 'app', ports: [{ name: 'http', containerPort: 8080 }] }],
  },
}
const served = { ...readyPod('a', labelled), ...http }

itExplains([
  [
    'a Service with a ready endpoint is fine',
    service,
    web,
    { endpointSlices: [slice(true)], pods: [served] },
    [],
    [],
  ],
  [
    'a selector that matches nothing shows pods whose labels come near',
    service,
    web,
    { pods: [readyPod('a', { metadata: { labels: { app: 'wep' } } })] },
    ['SelectorMatchesNothing'],
    ['app=web', 'has the labels app=wep'],
  ],
  [
    'pods that are not ready are explained',
    service,
    web,
    {
      endpointSlices: [slice(false)],
      pods: [{ ...crashing('a', labelled), spec: { nodeName: 'n', ...http.spec } }],
    },
    ['NoReadyPods', 'CrashLoopBackOff'],
    ['1 endpoint, none ready', 'kubectl logs a'],
  ],
  [
    'a port that the pods lack is named with those that they have',
    service,
    web,
    {
      endpointSlices: [slice(true)],
      pods: [
        {
          ...served,
          spec: {
            containers: [{ name: 'app', image: 'app', ports: [{ name: 'web', containerPort: 1 }] }],
          },
        },
      ],
    },
    ['NoSuchPort'],
    ['"http"', 'web 1'],
  ],
  [
    'a Service without a selector needs endpoints from somebody',
    service,
    object('Service', 'web', { spec: {} }),
    {},
    ['NoEndpoints'],
    ['EndpointSlice'],
  ],
  [
    'a Service of ready pods without endpoints leads to the controller manager',
    service,
    web,
    { pods: [served] },
    ['NoEndpoints'],
    ['1 pod that the Service selects is ready', 'skiff status'],
  ],
  [
    'a pod that is being deleted does not count as ready',
    service,
    web,
    {
      endpointSlices: [slice(false)],
      pods: [
        {
          ...served,
          metadata: { ...served.metadata, deletionTimestamp: '2026-11-22T12:00:20Z' },
        },
      ],
    },
    ['NoReadyPods'],
    [],
  ],
  [
    'endpoints that could not be read are not missed',
    service,
    web,
    { pods: [served], incomplete: new Set(['endpointSlices']) },
    [],
    [],
  ],
  [
    'pods that could not be read are not missed',
    service,
    web,
    { endpointSlices: [slice(false)], incomplete: new Set(['pods']) },
    ['NoEndpoints'],
    ['its pods could not be read'],
    ['matches none'],
  ],
  [
    'a sidecar has ports, too',
    service,
    web,
    {
      endpointSlices: [slice(true)],
      pods: [
        {
          ...served,
          spec: {
            containers: [{ name: 'app', image: 'app' }],
            initContainers: [
              {
                name: 'proxy',
                image: 'proxy',
                restartPolicy: 'Always',
                ports: [{ name: 'http', containerPort: 8080 }],
              },
            ],
          },
        },
      ],
    },
    [],
    [],
  ],
  [
    'a load balancer that cannot be made has the event of its controller',
    service,
    object('Service', 'web', { spec: { type: 'LoadBalancer', selector: { app: 'web' } } }),
    {
      endpointSlices: [slice(true)],
      events: [event('Service', 'web', 'SyncLoadBalancerFailed', 'no address is free')],
    },
    ['NoLoadBalancer'],
    ['no address is free', 'correct what the event names'],
    ['skiff status'],
  ],
  [
    'an alias needs no endpoints',
    service,
    object('Service', 'web', { spec: { type: 'ExternalName', externalName: 'x' } }),
    {},
    [],
    [],
  ],
  [
    'a load balancer of a class of its own is waited for',
    service,
    object('Service', 'web', {
      spec: {
        ...web['spec'],
        type: 'LoadBalancer',
        loadBalancerClass: 'example.com/lb',
        ports: [],
      },
    }),
    { endpointSlices: [slice(true)] },
    ['NoLoadBalancer'],
    ['example.com/lb'],
  ],
  [
    'an Ingress without a class has no controller, and lacks its Service',
    ingress,
    object('Ingress', 'front', { spec: { defaultBackend: { service: { name: 'web' } } } }),
    {},
    ['NoIngressClass', 'MissingService'],
    ['Service web'],
  ],
  [
    'an Ingress of a class without a controller names the controller',
    ingress,
    object('Ingress', 'front', { spec: { ingressClassName: 'nginx' } }),
    {
      ingressClasses: [
        object('IngressClass', 'nginx', { spec: { controller: 'example.com/nginx' } }),
      ],
    },
    ['NoIngressController'],
    ['example.com/nginx'],
  ],
])

const annotated = object('Ingress', 'front', {
  metadata: { annotations: { 'kubernetes.io/ingress.class': 'nginx' } },
})
itExplains([
  [
    'an Ingress names its class by the annotation of old clients',
    ingress,
    annotated,
    {
      ingressClasses: [
        object('IngressClass', 'nginx', { spec: { controller: 'example.com/nginx' } }),
      ],
    },
    ['NoIngressController'],
    ['example.com/nginx'],
  ],
  [
    'classes that could not be read are not missed',
    ingress,
    annotated,
    { incomplete: new Set(['ingressClasses']) },
    [],
    [],
  ],
])
