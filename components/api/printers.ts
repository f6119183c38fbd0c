/** The table printer of every resource. */
import type { Resource } from '../machinery/objects/resource.ts'
import type { TablePrinter } from '../machinery/objects/table-printer.ts'
import { certificatesPrinters, rbacPrinters } from './columns/access.ts'
import { admissionPrinters, apiregistrationPrinters } from './columns/admission.ts'
import { autoscalingPrinters, scalePrinter } from './columns/autoscaling.ts'
import {
  coordinationPrinters,
  flowcontrolPrinters,
  internalPrinters,
  nodePrinters,
  policyPrinters,
  resourcePrinters,
  schedulingPrinters,
  storagemigrationPrinters,
} from './columns/cluster.ts'
import { corePrinters, eventPrinter } from './columns/core.ts'
import { metricsPrinters } from './columns/metrics.ts'
import { discoveryPrinters, networkingPrinters } from './columns/networking.ts'
import { storagePrinters } from './columns/storage.ts'
import { defaultPrinter } from './columns/table-printer.ts'
import { appsPrinters, batchPrinters } from './columns/workloads.ts'

/** By the facts' package without its version, then by plural. */
const printers: Readonly<Record<string, Readonly<Record<string, TablePrinter>>>> = {
  admissionregistration: admissionPrinters,
  apiregistration: apiregistrationPrinters,
  apiserverinternal: internalPrinters,
  apps: appsPrinters,
  autoscaling: autoscalingPrinters,
  batch: batchPrinters,
  certificates: certificatesPrinters,
  coordination: coordinationPrinters,
  core: corePrinters,
  discovery: discoveryPrinters,
  events: { events: eventPrinter },
  flowcontrol: flowcontrolPrinters,
  metrics: metricsPrinters,
  networking: networkingPrinters,
  node: nodePrinters,
  policy: policyPrinters,
  rbac: rbacPrinters,
  resource: resourcePrinters,
  scheduling: schedulingPrinters,
  storage: storagePrinters,
  storagemigration: storagemigrationPrinters,
}

/** How a built-in resource, or its scale, shows in a table; kinds without columns of their own show name and creation time. */
export function printerOf(resource: Resource, subresource = ''): TablePrinter {
  if (subresource === 'scale') return scalePrinter
  const [group = ''] = resource.package.split('/')
  return printers[group]?.[resource.plural] ?? defaultPrinter
}
