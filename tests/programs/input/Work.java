// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The Java virtual machine under test: threads, direct buffers, Deflater and Inflater, zip files, compiled and reloaded code.
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.function.IntUnaryOperator;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

public class Work {
    /** Native memory through DirectByteBuffer, given back by the cleaner. */
    static long direct(int rounds) {
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(i * 37 % 60000 + 1);
            buffer.put(0, (byte) i);
            sum += buffer.get(0) + buffer.capacity();
        }
        return sum;
    }

    /** zlib's state and windows come from malloc. */
    static long pack(int seed) throws Exception {
        byte[] text = new byte[100000];
        for (int i = 0; i < text.length; i++) text[i] = (byte) (97 + (i * seed >> 5) % 26);
        Deflater deflater = new Deflater(seed % 9 + 1);
        byte[] packed = new byte[text.length + 1000];
        deflater.setInput(text);
        deflater.finish();
        int size = deflater.deflate(packed);
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, size);
        byte[] back = new byte[text.length];
        int got = inflater.inflate(back);
        inflater.end();
        CRC32 crc = new CRC32();
        crc.update(back);
        return crc.getValue() + got;
    }

    static int zip() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream out = new ZipOutputStream(bytes)) {
            for (int i = 0; i < 300; i++) {
                out.putNextEntry(new ZipEntry("entry" + i));
                out.write(new byte[i * 11]);
            }
        }
        int count = 0;
        try (ZipInputStream in = new ZipInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            while (in.getNextEntry() != null) count += in.readAllBytes().length;
        }
        return count;
    }

    static int proxies() {
        int sum = 0;
        for (int i = 0; i < 200; i++) {
            final int n = i;
            Callable<?> call = (Callable<?>) Proxy.newProxyInstance(
                Work.class.getClassLoader(), new Class<?>[] {Callable.class}, (self, method, arguments) -> n);
            IntUnaryOperator operator = value -> value + n;
            try {
                sum += operator.applyAsInt((Integer) call.call());
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> answers = new ArrayList<>();
        for (int i = 1; i <= 24; i++) {
            final int n = i;
            answers.add(pool.submit(() -> pack(n)));
            answers.add(pool.submit(() -> direct(n * 20)));
        }
        long sum = 0;
        for (Future<Long> answer : answers) sum += answer.get();
        pool.shutdown();
        System.out.println("pool " + sum);
        System.out.println("zip " + zip() + " proxies " + proxies());
        TreeMap<String, List<String>> tree = new TreeMap<>();
        for (int i = 0; i < 100000; i++) {
            tree.computeIfAbsent("key" + i % 5000, key -> new ArrayList<>()).add("value" + i);
        }
        System.out.println("tree " + tree.size() + " " + tree.hashCode());
        for (int i = 0; i < 200; i++) {
            Thread thread = new Thread(() -> direct(5));
            thread.start();
            thread.join();
        }
        System.out.println("threads done");
    }
}
