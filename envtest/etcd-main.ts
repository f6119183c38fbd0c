/** The process that envtest starts as etcd. */
import { runComponent } from '../components/component-base/component.ts'
import { runEtcd } from './etcd.ts'
import { etcd } from './etcd-flags.ts'

void runComponent({ ...etcd, run: runEtcd })
