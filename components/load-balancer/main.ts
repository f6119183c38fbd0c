/** The load balancer's process. */
import { runComponent } from '../component-base/component.ts'
import { loadBalancer } from './options.ts'
import { runLoadBalancer } from './run-load-balancer.ts'

void runComponent({
  ...loadBalancer,
  // It reaches servers over the network, whose time is real.
  isOutsideTime: true,
  run: runLoadBalancer,
})
